#include "tests/backends/statistics_case.h"

#include <cmath>

#include "backends/graph/expression.h"
#include "neon/core/random.h"

namespace neon::test {

std::string difference_of_statistics(const DeviceOptions& device) {
  constexpr int64_t kRows = 2048;
  constexpr float kEqual = 3.7f;
  const char* const channels[] = {"far from 0", "equal", "the first far away", "one beside zeros", "small", "large"};
  Graph graph;
  const Value x = graph.input("x", DType::f32, {kRows, 1, 1, 6});
  const Value gamma = graph.constant(1, DType::f32), beta = graph.constant(0.25, DType::f32);
  const Shape statistic = {1, 1, 1, 6};
  const auto results =
      graph.add_all("batch_norm", {x, broadcast_to(graph, gamma, statistic), broadcast_to(graph, beta, statistic)},
                    {{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", 0.0}});
  graph.output("y", results[0]), graph.output("mean", results[1]), graph.output("variance", results[2]);
  Tensor data(DType::f32, {kRows, 1, 1, 6});
  Stream stream(1, "statistics");
  for (int64_t row = 0; row < kRows; ++row) {
    const double u = 2 * stream.uniform() - 1;
    const double numbers[] = {4096 + u, kEqual, row == 0 ? 100 : u, row == 77 ? 1.0 : 0.0, 1e-18 * u, 1e17 * u};
    for (int64_t c = 0; c < 6; ++c) data.set(row * 6 + c, numbers[c]);
  }
  Variables variables;
  const auto program = compile_program(graph, variables, device);
  program->bind("x", data.data());
  program->run(0);
  const auto off = [](double got, double expected, double allowed) {
    return std::fabs(got - expected) <= allowed ? ""
                                                : text(got, " instead of ", expected, ", ", allowed, " is allowed");
  };
  for (int64_t c = 0; c < 6; ++c) {
    double mean = 0, variance = 0;
    for (int64_t row = 0; row < kRows; ++row) mean += data.at(row * 6 + c) / kRows;
    for (int64_t row = 0; row < kRows; ++row) variance += std::pow(data.at(row * 6 + c) - mean, 2) / kRows;
    // The distance of the first from the mean goes into both, into the variance squared; numbers are added up in parts.
    const double away = std::fabs(data.at(c) - mean), unit = 32 * 0x1p-24;
    std::string found = off(program->output("variance").at(c), variance, unit * (variance + away * away));
    if (!found.empty()) return text("the variance, ", channels[c], ": ", found);
    found = off(program->output("mean").at(c), mean, unit * (std::fabs(mean) + std::sqrt(variance) + away));
    if (!found.empty()) return text("the mean, ", channels[c], ": ", found);
    for (int64_t row = 0; variance > 0 && row < kRows; ++row) {
      const double normal = (data.at(row * 6 + c) - mean) / std::sqrt(variance);
      found = off(program->output("y").at(row * 6 + c), normal + 0.25, 1e-3 * (1 + std::fabs(normal)));
      if (!found.empty()) return text("row ", row, ", ", channels[c], ": ", found);
    }
  }
  return "";
}

}  // namespace neon::test
