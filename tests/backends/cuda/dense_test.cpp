// Derivatives and sums that the products of a small net's gradients take along on the GPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "backends/graph/ops.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/dense_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("products of a small net's gradients take derivatives and sums along on the GPU") {
  for (const DenseCase& c : dense_cases()) {
    check_against_plain(c.name, c.build);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Variables variables;
      const auto program = compile_program(build_branches(c.build, dtype), variables, {.gpu = true});
      int derivatives = 0, sums = 0;
      for (size_t k = 0; k < program->lowered().kernels.size(); ++k) {
        const LoweredKernel& kernel = program->lowered().kernels[k];
        if (!kernel.is(ops::matmul)) continue;
        CHECK(program->implementations()[k] == "own");
        derivatives += kernel.derivative() != nullptr;
        sums += kernel.outputs.size() == 2;
      }
      CHECK(derivatives == c.derivatives);
      CHECK(sums == c.sums);
    }
  }
}
