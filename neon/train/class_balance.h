// Classes with few samples beside classes with many: weights of classes in the cost, and samples drawn by class.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "backends/variables.h"
#include "datasets/dataset.h"
#include "models/step_graph.h"
#include "neon/core/params.h"

namespace neon {

// `class_weights` of a spec: balanced, a number for each class, or numbers by name, others being 1.
struct ClassWeights {
  bool balanced = false;
  std::vector<double> numbers;
  std::vector<std::pair<std::string, double>> named;
  bool is_given() const { return balanced || !numbers.empty() || !named.empty(); }
};
template <>
struct Value_of<ClassWeights> {
  static std::string type() { return "balanced, a list of numbers, or numbers by class"; }
  static void read(const Setting& from, ClassWeights& out, const Constraint&, Problems& problems);
  static Setting write(const ClassWeights& value);
};

// Classes that weights are for. `counts`: of training samples; empty: not known.
struct WeighedClasses {
  const char* key = "class_weights";  // of messages: the key of the spec
  std::string prefix = "";            // and what stands before
  std::vector<std::string> names;     // by number; others have none
  int64_t classes = 0, padding = 0;
  std::vector<double> counts;
};

// The weight of each class. Balanced: n / (classes * n of the class), over the samples with a class and the classes
// that these have, so that the mean weight of a sample is 1. Throws a config error for weights of other classes.
std::vector<double> weights_of_classes(const ClassWeights& weights, const WeighedClasses& of);

// Throws a config error for weights of other classes than a data set's, as far as these are known by name. CIFAR-10's
// classes of padding are known by their names, too.
void check_class_weights(const ClassWeights& weights, const DataCheck& check);

// Throws a config error where samples have no class each that could be drawn by, or no classes that could be weighed.
// With several targets, exactly one may have classes to draw by.
void check_balance(const ClassWeights& weights, bool draws_by_class, const DataLayout& data);

// The same for the labels of the training samples.
std::vector<double> weights_of_classes(const ClassWeights& weights, const Data& data);

// The same as the variable of a training step, if it has one.
void set_class_weights(const ClassWeights& weights, const Data& data, Variables& variables);

// How much each class counts for a training, as a factor of its share of the samples.
std::vector<double> factors_of_classes(const ClassWeights& weights, bool draws_by_class, const Data& data);

// "cat has 5000 training samples, dog 40: 125 times as many" where the largest class is that much larger than the
// smallest; otherwise "". `counts`: of the training `things`; empty: unknown.
std::string imbalance_text(const std::vector<int64_t>& counts, const std::vector<std::string>& names,
                           const std::string& things = "samples");

}  // namespace neon
