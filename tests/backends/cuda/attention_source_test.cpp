// Kernels of attention: which cases have one, and that it compiles. Needs no GPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/cuda/attention_plan.h"
#include "backends/cuda/op_source.h"
#include "backends/graph/attention.h"
#include "backends/graph/ops.h"
#include "tests/backends/cuda/quick_compile.h"
#include "tests/backends/op_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

cuda::AttentionCase sizes_of(DType dtype, int64_t size, bool gradient) {
  return {dtype, 2, 300, 4, 300, 2, size, 0.125, gradient};
}

std::string attention_text_of(const OpCase& c, DType dtype) {
  Graph graph;
  const std::vector<Value> results = build_case(graph, c, dtype);
  const Lowered lowered = lower(graph, cuda::gpu_lowering(true, false, 90));
  std::map<std::string, int> scalars;
  cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
  context.arch = 90;
  REQUIRE(lowered.kernels.size() == 1);
  return cuda::op_source(lowered.kernels[0], context).text;
}

}  // namespace

TEST_CASE("attention has a kernel for heads of up to 128 numbers, on tensor cores for 16 bits") {
  for (const bool gradient : {false, true})
    for (const int arch : {80, 86, 90}) {
      for (const int64_t size : {1, 8, 20, 64, 128}) {
        for (const DType dtype : {DType::f16, DType::bf16}) {
          const auto plan = cuda::plan_attention(sizes_of(dtype, size, gradient), arch);
          REQUIRE(plan);
          CHECK(plan->tensor);
        }
        const auto plain = cuda::plan_attention(sizes_of(DType::f32, size, gradient), arch);
        REQUIRE(plain);
        CHECK(!plain->tensor);
      }
      CHECK(!cuda::plan_attention(sizes_of(DType::f64, 8, gradient), arch));
      CHECK(!cuda::plan_attention(sizes_of(DType::bf16, 136, gradient), arch));
    }
  const auto older = cuda::plan_attention(sizes_of(DType::f16, 64, true), 75);
  REQUIRE(older);
  CHECK(!older->tensor);
}

TEST_CASE("several ranks draw what attention drops by the place in the whole batch, as its definition does") {
  for (const bool ranks : {false, true})
    for (const double keep : {1.0, 0.5}) {
      INFO("ranks " << ranks << ", keep " << keep);
      Graph graph;
      const auto input = [&](const char* name) { return graph.input(name, DType::f16, {2, 32, 4, 64}); };
      graph.output("y", attention(graph, input("q"), input("k"), input("v"), {}, {.keep = keep, .first = 2}));
      const Lowered lowered = lower(graph, cuda::gpu_lowering(true, false, 90, 64, ranks));
      const auto is_kernel = [](const LoweredKernel& kernel) { return kernel.is(ops::attention); };
      CHECK((std::ranges::count_if(lowered.kernels, is_kernel) == 1) == (!ranks || keep == 1));
    }
}

TEST_CASE("kernels of attention compile, some cases in each type") {
  std::vector<std::string> sources;
  for (const char* op : {"attention", "attention_grad"}) {
    const std::vector<OpCase> cases = cases_of(*find_op(op));
    for (const size_t i : {size_t(8), cases.size() - 1}) {
      sources.push_back(attention_text_of(cases[i], DType::f32));
      sources.push_back(attention_text_of(cases[i], i == 8 ? DType::f16 : DType::bf16));
    }
  }
  for (int arch : {NEON_CUDA_ARCH})
    if (arch >= 80) CHECK(compile_error(sources, arch) == "");
}
