#include "models/step_costs.h"

#include <span>

#include "backends/graph/passes.h"
#include "models/measures.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// The mean costs of all ranks, from this rank's part of each.
std::vector<Value> of_all_ranks(StepGraph& step, const std::vector<Expr>& averages, const StepOptions& options) {
  const std::vector<Value> own(averages.begin(), averages.end());
  return options.share.ranks > 1 ? exchange(step.graph, own) : own;
}

void write_parts(StepGraph& step, const Cost& cost, std::span<const Value> averages) {
  for (size_t i = 0; i < averages.size(); ++i) {
    const double weight = cost.weight_of(i);
    const Expr average(step.graph, averages[i]);
    step.graph.output(text("part/", i), weight == 1 ? average : average * weight);
  }
}

}  // namespace

Expr average_of(StepGraph& step, const Batch& batch, Expr each, const StepOptions& options) {
  return {step.graph, on_logits(step.graph, mean_cost(batch, each, options.share))};
}

Expr average_of_outputs(StepGraph& step, LayerContext& context, const Cost& cost, const DataLayout& data, Expr y,
                        const Batch& batch, const StepOptions& options) {
  Scope scope(step.graph, "cost");
  std::vector<Expr> averages;
  for (const Expr each : weighted_costs_of_outputs(context, data, cost, y, batch, options))
    averages.push_back(average_of(step, batch, each, options));
  Expr total;
  for (size_t i = 0; i < averages.size(); ++i) {
    const Expr weighted = cost.weight_of(i) == 1 ? averages[i] : averages[i] * cost.weight_of(i);
    total = total.value() ? total + weighted : weighted;
  }
  const std::vector<Value> whole = of_all_ranks(step, averages, options);
  if (options.cost_parts) write_parts(step, cost, whole);
  for (size_t i = 0; i < whole.size(); ++i) {
    step.output_costs.push_back(text("output_cost/", i));
    step.graph.output(step.output_costs.back(), whole[i]);
  }
  return total;
}

void output_parts(StepGraph& step, const Cost& cost, const std::vector<Expr>& averages, const StepOptions& options) {
  write_parts(step, cost, of_all_ranks(step, averages, options));
}

}  // namespace neon
