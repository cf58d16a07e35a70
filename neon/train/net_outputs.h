// `outputs` of a spec: the layers of a net whose outputs have targets of their own, each with a cost and metrics.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/output_costs.h"
#include "models/step_graph.h"
#include "neon/core/params.h"
#include "neon/train/class_balance.h"

namespace neon {

// The name of the class that the spec names.
template <typename T>
std::string class_name_of(const Made<T>& made) {
  const Setting& resolved = made.resolved();
  return resolved.is_map() ? resolved.entries.at(0).key : resolved.value;
}

struct OutputParams {
  Made<Cost> cost;
  std::string layer;
  double weight = 1;
  ClassWeights class_weights;
  std::optional<std::vector<Made<Metric>>> metrics;
  static void describe(auto&& p) {
    p("cost", &OutputParams::cost, "Cost of this output with its target.", Required{});
    p("layer", &OutputParams::layer,
      "Name of the layer whose output it is. Default: the layer of the target's name, or else the last.");
    p("weight", &OutputParams::weight, "Factor of this cost in the sum of all.", at_least(0));
    p("class_weights", &OutputParams::class_weights,
      "Factors of the cost of a training sample, by its class of this target: balanced, [1, 50] or {dog: 50}; classes "
      "without a number have 1.");
    p("metrics", &OutputParams::metrics,
      "Results of this output to report at each evaluation. Default: Misclassification for classes, MultiLabelStats "
      "for "
      "labels.");
  }
};
template <>
struct Value_of<OutputParams> {
  static std::string type() { return "output"; }
  static void read(const Setting& from, OutputParams& out, const Constraint&, Problems& problems);
  static Setting write(const OutputParams& value);
};

// By the name of the target.
using OutputSpecs = std::vector<std::pair<std::string, OutputParams>>;

// The layers that they take their outputs from, as far as the spec gives them.
WantedLayers layers_of_outputs(const OutputSpecs& outputs);
// Gives each output its layer; what is wrong is added to `problems`, at its place in `where`, the spec's value.
void find_layers(OutputSpecs& outputs, const Network& network, const Setting& where, Problems& problems);

// Throws a config error where an output has class weights and its target has no classes.
void check_class_weights(const OutputSpecs& outputs, const std::vector<NamedTarget>& targets);
// The weights of the classes of each output; of outputs without weights none.
std::vector<std::vector<double>> weights_of_outputs(const OutputSpecs& outputs, const Data& data);
// The same as the variables of a training step, if it has them.
void set_class_weights(const OutputSpecs& outputs, const Data& data, Variables& variables);

std::vector<OutputCosts::Part> parts_of(const OutputSpecs& outputs);
// The metrics of all outputs, and the cost of each.
std::vector<std::unique_ptr<Metric>> measures_of(const OutputSpecs& outputs);
// Gives the metrics of labels that name none the labels of the data set. Returns whether there were such metrics.
bool name_labels(OutputSpecs& outputs, const std::vector<OutputForm>& forms);
// Gives outputs for which the spec names no metrics those that suit their targets, and returns these.
std::vector<std::unique_ptr<Metric>> add_default_metrics(OutputSpecs& outputs, const std::vector<OutputForm>& forms);

}  // namespace neon
