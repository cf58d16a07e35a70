// Max pooling behind batch norm on the GPU, against the plain kernels in f64.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/ops.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/normed_pooling_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("max pooling computes what it reads of batch norm on the GPU, whose gradient makes that of pooling",
          "[parts]") {
  for (const NormedPoolingCase& c : part_of(normed_pooling_cases())) {
    const auto wanted = results_of(build_branches(c.build, DType::f64), {.program = {.plain = true}});
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = build_branches(c.build, dtype);
      Variables variables;
      const auto kernels = compile_program(graph, variables, {.gpu = true})->lowered().kernels;
      const auto pooling = std::ranges::find_if(kernels, [](const LoweredKernel& k) { return k.is(ops::pool_max); });
      REQUIRE(pooling != kernels.end());
      CHECK((pooling->prologue() != nullptr) == (c.operand && dtype != DType::f32));
      for (const auto& [name, y] : results_of(graph, {.gpu = true})) {
        INFO(name);
        const auto [error, far] = error_of(y, numbers_of(wanted.at(name)));
        const double coarser = std::max(unit_roundoff(dtype) / unit_roundoff(DType::f16), 1.0);
        CHECK(error < 0.0125 * coarser);
        CHECK(far < kMostOff * coarser * coarser);
      }
    }
  }
}
