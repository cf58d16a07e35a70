// Batch norms that multiply rows themselves: which do, and their texts for each GPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/cuda/compile.h"
#include "backends/cuda/source.h"
#include "backends/graph/expression.h"
#include "backends/graph/windows.h"
#include "tests/backends/cuda/row_product_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

Lowered lowered_for(const Graph& graph, int arch) { return lower(graph, cuda::gpu_lowering(true, false, arch, 132)); }

int64_t products_in(const Lowered& lowered) {
  return std::ranges::count_if(lowered.kernels, [](const LoweredKernel& k) { return k.fused && k.fused->product; });
}

}  // namespace

TEST_CASE("a batch norm and its gradient make the product before them, on compute capability 9.0 alone") {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const RowProductCase& c : row_product_cases()) {
      const Graph graph = build(c, dtype);
      CHECK(products_in(lowered_for(graph, 90)) == 2);
      for (const int arch : {75, 80, 100, 120}) CHECK(products_in(lowered_for(graph, arch)) == 0);
    }
}

TEST_CASE("a product that is small, or in f32, stays by itself") {
  RowProductCase c = row_product_cases()[1];
  CHECK(products_in(lowered_for(build(c, DType::f32), 90)) == 0);
  c.images = 1;
  CHECK(products_in(lowered_for(build(c, DType::f16), 90)) == 0);
}

TEST_CASE("a product stays by itself whose result somebody reads before, or whose rows are a view of an input") {
  const Shape sizes{9, 64, 65, 64}, statistic{1, 1, 1, 256};
  for (const bool read_before : {false, true})
    for (const bool of_input : {false, true}) {
      INFO(read_before << " " << of_input);
      Graph graph;
      const auto variable = [&](const char* name, DType type, const Shape& shape) {
        return Expr(graph, graph.variable(name, type, shape));
      };
      const Expr x = of_input ? reshape(Expr(graph, graph.input("x", DType::f16, {9, 64 * 65 * 64})), sizes)
                              : variable("x", DType::f16, sizes);
      const Windows pixel{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
      const Expr y(graph, convolution(graph, x, variable("w", DType::f16, {256, 1, 1, 64}), pixel, 1));
      if (read_before)
        graph.output("before", convolution(graph, y, variable("v", DType::f16, {8, 1, 1, 256}), pixel, 1));
      const Value z = graph.add_all(
          "batch_norm",
          {cast(y, DType::f32), variable("gamma", DType::f32, statistic), variable("beta", DType::f32, statistic)},
          {{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", 1e-3}})[0];
      graph.output("z", cast(graph, z, DType::f16));
      CHECK(products_in(lowered_for(graph, 90)) == (read_before || of_input ? 0 : 1));
    }
}

TEST_CASE("texts of batch norms that multiply rows compile") {
  std::vector<std::string> sources;
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const RowProductCase& c : row_product_cases()) {
      const Lowered lowered = lowered_for(build(c, dtype), 90);
      std::map<std::string, int> scalars;
      cuda::SourceContext context{.lowered = lowered, .scalars = scalars, .processors = 132, .arch = 90};
      for (const LoweredKernel& kernel : lowered.kernels)
        if (kernel.fused && kernel.fused->product) sources.push_back(cuda::fused_source(*kernel.fused, context).text);
    }
  const auto codes = cuda::compile_sources(sources, 90);
  CHECK(codes.size() == sources.size());
}
