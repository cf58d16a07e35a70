// Depthwise convolutions behind batch norm on the GPU, against the plain kernels in f64.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/normed_depthwise_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("depthwise convolutions on the GPU compute what they read of batch norm", "[parts]") {
  for (const NormedDepthwiseCase& c : part_of(normed_depthwise_cases())) {
    const auto wanted = results_of(build_branches(c.build, DType::f64), {.program = {.plain = true}});
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = build_branches(c.build, dtype);
      Variables variables;
      const auto kernels = compile_program(graph, variables, {.gpu = true})->lowered().kernels;
      const int64_t computed = std::ranges::count_if(kernels, [](const LoweredKernel& k) { return k.prologue(); });
      CHECK(computed == c.forward + c.gradients);
      CHECK(std::ranges::count_if(kernels, [](const LoweredKernel& k) { return k.folds(); }) == c.both * c.folds);
      const auto got = results_of(graph, {.gpu = true}), again = results_of(graph, {.gpu = true});
      for (const auto& [name, y] : got) {
        INFO(name);
        const auto [error, far] = error_of(y, numbers_of(wanted.at(name)));
        const double coarser = std::max(unit_roundoff(dtype) / unit_roundoff(DType::f16), 1.0);
        CHECK(error < 0.0125 * coarser);
        CHECK(far < kMostOff * coarser * coarser);
        CHECK(numbers_of(again.at(name)) == numbers_of(y));
      }
    }
  }
}
