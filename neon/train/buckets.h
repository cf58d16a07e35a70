// Batches of sequences of similar lengths: a spec's `buckets`, and the programs that a step then has.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/length_buckets.h"
#include "models/step_graph.h"
#include "neon/core/params.h"

namespace neon {

// `buckets` of a spec: their number, or the lengths that they end at.
struct Buckets {
  int64_t count = 0;
  std::vector<int64_t> steps;
  bool is_given() const { return count > 0 || !steps.empty(); }
  bool operator==(const Buckets&) const = default;
};
template <>
struct Value_of<Buckets> {
  static std::string type() { return "a number of buckets, or a list of lengths"; }
  static void read(const Setting& from, Buckets& out, const Constraint&, Problems& problems);
  static Setting write(const Buckets& value);
};

// Throws a config error where samples are no sequences of different lengths, or where something else than the net's
// layers sees their padding: a rule, or a cost that compares the samples themselves.
void check_buckets(const Buckets& buckets, const DataLayout& data, bool by_rule);

// The buckets of the training samples; null where the spec asks for none.
SampleBuckets make_buckets(const Buckets& buckets, const DataLayout& layout, const Data& data, int64_t batch);

// The buckets of samples that an evaluation passes in any order, from the shortest to the longest.
SampleBuckets buckets_of_evaluation(const Buckets& buckets, const DataLayout& data, const Split& split, int64_t batch);

// The name of a parameter or state that `other` has with another shape than `whole`, or alone; "" without one.
std::string other_weight(const StepGraph& whole, const StepGraph& other);

// Throws a config error unless a step of the shortest sequences has the parameters and states of `whole`.
void check_same_weights(const StepGraph& whole, const StepGraph& shortest, int64_t whole_steps, int64_t steps);

// What `make` makes for sequences of so many steps. None where the net does not take them as it takes those of `whole`:
// a filter may have more steps, or a layer other weights.
std::optional<StepGraph> step_of_length(const StepGraph& whole, int64_t whole_steps, int64_t steps,
                                        const std::function<StepGraph()>& make);

// "batches of up to 7, 12 or 40 steps: 11 % of the steps are padding, 62 % without buckets". `order`: of an epoch.
std::string buckets_text(const LengthBuckets& buckets, const std::vector<int32_t>& order, int64_t batch, int64_t steps);

}  // namespace neon
