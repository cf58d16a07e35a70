#include "tests/backends/cuda/result_folds_cases.h"

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"

namespace neon::test {

std::vector<ResultFoldsCase> result_folds_cases() {
  return {
      {"strips that halves take in turn", {90, 40, 40, 64}, {64, 3, 3}},
      {"strips that end beside the image", {170, 26, 30, 16}, {64, 3, 3}},
      {"strips of fewer maps", {180, 28, 32, 16}, {56, 3, 3}},
      {"strips far from 0", {96, 44, 32, 32}, {64, 3, 3}, 1, 1500},
      {"pairs of pixels", {48, 112, 112, 4}, {64, 7, 7}, 2},
      {"pairs of pixels far from 0, of few maps, that end beside the image", {140, 100, 124, 4}, {24, 5, 5}, 2, 1500},
  };
}

Graph result_folds(const ResultFoldsCase& c, DType dtype) {
  Graph graph;
  const int64_t maps = c.w[0], before = c.w[1] / 2;
  const Value x = graph.variable("x", dtype, c.x), w = graph.variable("w", dtype, {maps, c.w[1], c.w[2], c.x[3]});
  const Windows windows{{c.w[1], c.w[2]}, {c.stride, c.stride}, {before, before}, {before, before}, {1, 1}};
  Expr result(graph, convolution(graph, x, w, windows, 1));
  if (c.bias != 0) result = result + Expr(graph, graph.variable("bias", dtype, {maps}));
  const Shape statistic{1, 1, 1, maps};
  const Expr scale = Expr(graph, graph.variable("gamma", DType::f32, statistic)) * 0.5 + 1.0;
  const Value shift = graph.variable("beta", DType::f32, statistic);
  const DType compute = dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto all =
      graph.add_all("batch_norm", {cast(result, compute), cast(scale, compute), cast(Expr(graph, shift), compute)},
                    {{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", 1e-3}});
  graph.output("y", cast(Expr(graph, all[0]), dtype));
  graph.output("mean", all[1]);
  graph.output("variance", all[2]);
  return graph;
}

}  // namespace neon::test
