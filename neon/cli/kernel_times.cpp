#include "neon/cli/kernel_times.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
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
  for (const FusedKernel* code : {kernel.fused.get(), kernel.prologue(), kernel.folds(), kernel.finish()}) {
    if (!code) continue;
    std::string expression = code->to_string(graph);
    std::ranges::replace(expression, '\n', ' ');
    if (expression.size() > kMostExpression) expression = expression.substr(0, kMostExpression) + " ...";
    out += "  " + expression;
  }
  return out;
}

double sum_of(const std::vector<TimedKernel>& kernels) {
  double out = 0;
  for (const TimedKernel& kernel : kernels) out += kernel.milliseconds;
  return out;
}

std::string line_of(double milliseconds, double sum, const KernelWork& work, double share) {
  const double seconds = milliseconds * 1e-3;
  return formatted("%9.4f %5.1f %% %9.1f %9.1f %5.0f %%  ", milliseconds, 100 * milliseconds / sum,
                   work.flops / seconds * 1e-9, work.bytes / seconds * 1e-9, 100 * share);
}

constexpr const char* kColumns = "       ms   share   GFLOP/s      GB/s  ceiling\n";

// A layer's ceiling is that of its kernels one by one.
std::string layer_table(const std::vector<TimedKernel>& kernels, const Ceiling& ceiling) {
  struct Sum {
    double milliseconds = 0, at_ceiling = 0;
    KernelWork work;
  };
  std::map<std::string, Sum> layers;
  for (const TimedKernel& kernel : kernels) {
    Sum& sum = layers[kernel.layer];
    sum.milliseconds += kernel.milliseconds;
    sum.at_ceiling += ceiling.share(kernel.work, kernel.milliseconds) * kernel.milliseconds;
    sum.work.flops += kernel.work.flops, sum.work.bytes += kernel.work.bytes;
  }
  std::vector<std::pair<std::string, Sum>> order(layers.begin(), layers.end());
  std::ranges::stable_sort(order, [](auto& a, auto& b) { return a.second.milliseconds > b.second.milliseconds; });
  std::string out = text(order.size(), order.size() == 1 ? " layer:\n" : " layers:\n", kColumns);
  for (const auto& [layer, sum] : order)
    out += line_of(sum.milliseconds, sum_of(kernels), sum.work, sum.at_ceiling / sum.milliseconds) +
           (layer.empty() ? "(no layer)" : layer) + "\n";
  return out;
}

std::vector<TimedKernel> of_each_step(const std::vector<TimedKernel>& kernels) {
  std::vector<TimedKernel> out = kernels;
  std::erase_if(out, [](const TimedKernel& kernel) { return kernel.once; });
  return out;
}

}  // namespace

std::vector<TimedKernel> time_kernels(const Program& program, int64_t steps,
                                      const std::function<std::vector<double>()>& step) {
  const Lowered& lowered = program.lowered();
  const std::vector<std::string> made_by = program.implementations();
  std::vector<std::vector<double>> times(lowered.kernels.size());
  for (int64_t i = 0; i < steps; ++i) {
    const std::vector<double> took = step();
    for (size_t k = 0; k < took.size(); ++k) times[k].push_back(took[k]);
  }
  std::vector<TimedKernel> out;
  for (size_t k = 0; k < times.size(); ++k) {
    const LoweredKernel& kernel = lowered.kernels[k];
    out.push_back({median(times[k]), work_of(kernel, lowered), made_by[k], description(kernel, lowered.graph),
                   kernel.scope, kernel.is_once()});
  }
  return out;
}

std::vector<TimedKernel> time_kernels(StepRunner& runner, int64_t steps) {
  return time_kernels(runner.program(), steps, [&] { return runner.time_kernels(); });
}

std::string kernel_tables(const std::vector<TimedKernel>& all, const Ceiling& ceiling) {
  const std::vector<TimedKernel> kernels = of_each_step(all);
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return kernels[a].milliseconds > kernels[b].milliseconds; });
  std::string out = formatted("ceiling: %.1f GFLOP/s in a large product, %.1f GB/s in a sum of long arrays\n",
                              ceiling.flops_per_second * 1e-9, ceiling.bytes_per_second * 1e-9);
  out += layer_table(kernels, ceiling) + text(order.size(), " kernels, median times:\n", kColumns);
  for (const size_t k : order) {
    const TimedKernel& kernel = kernels[k];
    out += line_of(kernel.milliseconds, sum_of(kernels), kernel.work, ceiling.share(kernel.work, kernel.milliseconds)) +
           formatted("%-14s  ", kernel.implementation.c_str()) + kernel.what +
           (kernel.layer.empty() ? "" : "  # " + kernel.layer) + "\n";
  }
  return out;
}

std::string chrome_trace(const std::vector<TimedKernel>& kernels, const Ceiling& ceiling) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  double at = 0;  // microseconds
  for (const TimedKernel& kernel : of_each_step(kernels)) {
    events.push_back({{"name", kernel.what},
                      {"cat", kernel.layer},
                      {"ph", "X"},
                      {"ts", at},
                      {"dur", kernel.milliseconds * 1e3},
                      {"pid", 1},
                      {"tid", 1},
                      {"args",
                       {{"layer", kernel.layer},
                        {"implementation", kernel.implementation},
                        {"flops", kernel.work.flops},
                        {"bytes", kernel.work.bytes},
                        {"share of the ceiling", ceiling.share(kernel.work, kernel.milliseconds)}}}});
    at += kernel.milliseconds * 1e3;
  }
  const Json out = {{"otherData", {{"by", "neon bench"}}}, {"displayTimeUnit", "ms"}, {"traceEvents", events}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace neon
