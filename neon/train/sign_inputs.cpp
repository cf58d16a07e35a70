#include "neon/train/sign_inputs.h"

#include "backends/graph/sign_product.h"

namespace neon {

namespace {

// Whether numbers of samples, which lie in memory as bytes, are 0 and more in the net.
bool is_never_negative(const Experiment& experiment, const DataLayout& layout) {
  return layout.dtype == DType::u8 && layout.tokens == 0 && layout.shift >= 0 && layout.scale > 0 &&
         layout.means.empty() && !experiment.params.normalize.is_given() && experiment.params.augment.empty();
}

bool takes_signs(const StepGraph& graph, const std::string& layer) {
  for (int i = 0; i < graph.graph.node_count(); ++i) {
    const Node& node = graph.graph.node(i);
    if (node.op->is(ops::sign_product) && node.scope == layer) return true;
  }
  return false;
}

}  // namespace

std::string advice_on_signs(const Experiment& experiment, const StepGraph& graph, const DataLayout& layout) {
  const std::vector<std::string> names = experiment.network().layer_names();
  if (names.empty() || !is_never_negative(experiment, layout) || !takes_signs(graph, names[0])) return "";
  return text("warning: ", names[0], " takes the signs of the samples, whose numbers are never below 0, so that all ",
              "samples are alike; give it binary_input: false, or the spec normalize: true");
}

}  // namespace neon
