// Both gradients of depthwise convolutions by one kernel on the GPU, against the plain kernels in f64.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/backends/both_gradients_cases.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("both gradients of depthwise convolutions come from one kernel on the GPU", "[parts]") {
  for (const BothGradientsCase& c : part_of(both_gradients_cases())) {
    const auto wanted = results_of(both_gradients(c, DType::f64), {.program = {.plain = true}});
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = both_gradients(c, dtype);
      Variables variables;
      CHECK(compile_program(graph, variables, {.gpu = true})->lowered().kernels.size() == (c.together ? 1 : 2));
      const auto got = results_of(graph, {.gpu = true}), again = results_of(graph, {.gpu = true});
      for (const auto& [name, y] : got) {
        INFO(name);
        const auto [error, far] = error_of(y, numbers_of(wanted.at(name)));
        CHECK(error < 2 * unit_roundoff(dtype) + 1e-6);
        CHECK(far == 0);
        CHECK(numbers_of(again.at(name)) == numbers_of(y));
      }
    }
  }
}
