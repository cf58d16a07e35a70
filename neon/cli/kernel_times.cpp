#include "neon/cli/kernel_times.h"

#include <algorithm>
#include <numeric>

#include "backends/graph/op.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr size_t kMostExpression = 90;  // letters of a fused kernel's

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + long(values.size() / 2));
  return values[values.size() / 2];
}

std::string description(const LoweredKernel& kernel, const Graph& graph) {
  std::string out = summary(kernel);
  if (!kernel.outputs.empty()) out += text(" -> ", graph.type(kernel.outputs[0]));
  if (const FusedKernel* code = kernel.fused ? kernel.fused.get() : kernel.prologue()) {
    std::string expression = code->to_string(graph);
    std::ranges::replace(expression, '\n', ' ');
    if (expression.size() > kMostExpression) expression = expression.substr(0, kMostExpression) + " ...";
    out += "  " + expression;
  }
  return kernel.scope.empty() ? out : out + "  # " + kernel.scope;
}

}  // namespace

std::string kernel_times(StepRunner& runner, int64_t steps) {
  const Lowered& lowered = runner.program().lowered();
  const std::vector<std::string> made_by = runner.program().implementations();
  std::vector<std::vector<double>> times(lowered.kernels.size());
  for (int64_t i = 0; i < steps; ++i) {
    const std::vector<double> took = runner.time_kernels();
    for (size_t k = 0; k < took.size(); ++k) times[k].push_back(took[k]);
  }
  std::vector<double> medians;
  for (const auto& of_kernel : times) medians.push_back(median(of_kernel));
  const double sum = std::accumulate(medians.begin(), medians.end(), 0.0);
  std::vector<size_t> order(medians.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return medians[a] > medians[b]; });
  std::string out = text(order.size(), " kernels, ms each, median of ", steps, " steps:\n");
  for (size_t k : order) {
    out += formatted("%9.4f %5.1f %%  %-14s  ", medians[k], 100 * medians[k] / sum, made_by[k].c_str()) +
           description(lowered.kernels[k], lowered.graph) + "\n";
  }
  return out;
}

}  // namespace neon
