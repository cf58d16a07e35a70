// Batch norms that multiply rows themselves: which do, and their texts for each GPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/cuda/compile.h"
#include "backends/cuda/source.h"
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

TEST_CASE("a product that somebody reads before, or that is small, or in f32, stays by itself") {
  RowProductCase c = row_product_cases()[1];
  CHECK(products_in(lowered_for(build(c, DType::f32), 90)) == 0);
  c.images = 1;
  CHECK(products_in(lowered_for(build(c, DType::f16), 90)) == 0);
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
