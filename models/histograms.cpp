#include "models/histograms.h"

#include <algorithm>

#include "models/exchange.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"

namespace neon {

namespace {

// The part of a parameter LAYER/W that a histogram may ask for: its own name, W, or its gradient's, dW.
std::string part_of(const Parameter& p) { return p.name.substr(p.name.rfind('/') + 1); }

// LAYER/W as neon named it in a metrics file: LAYER_W, or LAYER_dW.
std::string flat_name(const Parameter& p, bool gradient) {
  const std::string part = part_of(p);
  std::string out = p.name.substr(0, p.name.size() - part.size());
  std::ranges::replace(out, '/', '_');
  return out + (gradient ? "d" : "") + part;
}

void check_known(const StepGraph& step, const std::vector<std::string>& tensors) {
  std::vector<std::string> known;
  for (const Parameter& p : step.parameters)
    for (const std::string& name : {part_of(p), "d" + part_of(p)})
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
  for (const std::string& name : tensors)
    if (name != kAllArrays && std::ranges::find(known, name) == known.end())
      fail_about("callbacks", "Hist: no layer has '", name, "'", did_you_mean(name, known),
                 " (known: ", list_text(known), ")");
}

}  // namespace

void add_histograms(StepGraph& step, const std::vector<std::string>& tensors, const std::vector<Value>& stored,
                    const std::vector<Value>& gradients) {
  if (tensors.empty()) return;
  check_known(step, tensors);
  Graph& graph = step.graph;
  Scope scope(graph, "histograms");
  const Value watched = graph.scalar("watched");
  const bool all = std::ranges::count(tensors, kAllArrays) > 0;
  auto add = [&](const Parameter& p, Value of, bool gradient) {
    const std::string name = flat_name(p, gradient);

    Expr counts(graph, histogram(graph, of, kSizes, kSizeOfZero, watched));
    if (p.is_split()) counts = cast(over_ranks(p, cast(counts, DType::f64)), counts.dtype());
    graph.output("hist/" + name, counts);
    step.histograms.push_back(
        {name, gradient, p.whole_shape().elements(), size_of(graph.dtype(of)) == 2 && p.shape.rank() > 1});
  };
  for (size_t i = 0; i < step.parameters.size(); ++i) {
    const Parameter& p = step.parameters[i];
    const bool weights = all || std::ranges::count(tensors, part_of(p)) > 0;
    const bool slopes = all || std::ranges::count(tensors, "d" + part_of(p)) > 0;
    if (weights) add(p, stored[i], false);
    if (slopes && p.trained) add(p, gradients[i], true);
  }
}

}  // namespace neon
