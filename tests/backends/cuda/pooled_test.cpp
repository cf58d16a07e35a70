// Derivatives and sums that max pooling's gradient takes along on the GPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/pooled_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("first convolutions in 16 bits take max pooling along on the GPU, their filters' gradients that of pooling") {
  for (const PooledConvolutionCase& c : part_of(pooled_convolution_cases())) {
    // Not in f32: algorithms of cuDNN's that transform pixels make unequal what is equal, and another is the first.
    check_against_plain(c.name, c.build, {DType::f16, DType::bf16, DType::f64});
    if (c.taken) check_against_plain(c.name + ", TF32", c.build, {DType::f32}, true);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Variables variables;
      const auto program = compile_program(build_branches(c.build, dtype), variables, {.gpu = true});
      const auto& kernels = program->lowered().kernels;
      const auto found = std::ranges::find(kernels, "pooled_convolution", &LoweredKernel::op);
      REQUIRE((found != kernels.end()) == (c.taken && dtype != DType::f32));  // exact
      if (found == kernels.end()) continue;
      CHECK(program->implementations()[size_t(found - kernels.begin())] == "own");
      CHECK(found->relu == c.relu);
      const auto gradient = std::ranges::find(kernels, "pooled_weight_gradient", &LoweredKernel::op);
      CHECK((gradient != kernels.end()) == c.gradient);
    }
  }
}

TEST_CASE("max pooling's gradient takes relu's derivative and the bias's gradient along on the GPU") {
  for (const PooledCase& c : part_of(pooled_cases())) {
    check_against_plain(c.name, c.build);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Variables variables;
      const auto program = compile_program(build_branches(c.build, dtype), variables, {.gpu = true});
      const auto& kernels = program->lowered().kernels;
      const auto found = std::ranges::find(kernels, "pool_max_gradient", &LoweredKernel::op);
      REQUIRE(found != kernels.end());
      CHECK(program->implementations()[size_t(found - kernels.begin())] == "own");
      CHECK((found->derivative != nullptr) == c.derivative);
      CHECK((found->outputs.size() == 2) == c.sums);
    }
  }
}
