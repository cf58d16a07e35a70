// Which variables a run may go on with: what is infinite in the type of the net is told, sums of gradients are not.
#include "neon/train/finite.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace neon;

namespace {

StepGraph step_of_w() {
  StepGraph step;
  step.parameters.push_back({.name = "Affine_0/W", .shape = {2, 40}});
  return step;
}

std::string with(const std::string& name, DType stored, double value, DType net) {
  Variables variables;
  variables.declare("Affine_0/W", stored, {2, 40});
  Tensor& tensor = variables.declare(name, stored, {2, 40});
  tensor.set(53, value);
  return first_not_finite(variables, step_of_w(), net);
}

}  // namespace

TEST_CASE("infinity and NaN are found in every type") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    INFO(name_of(dtype));
    CHECK(with("Affine_0/W", dtype, infinity, dtype) == "Affine_0/W (2, 40) holds infinity");
    CHECK(with("Affine_0/W", dtype, -infinity, dtype) == "Affine_0/W (2, 40) holds infinity");
    CHECK(with("Affine_0/W", dtype, std::nan(""), dtype) == "Affine_0/W (2, 40) holds NaN");
    CHECK(with("Affine_0/W/velocity", dtype, -infinity, dtype) == "Affine_0/W/velocity (2, 40) holds infinity");
    CHECK(with("Affine_0/W", dtype, -60000, dtype) == "");
  }
}

TEST_CASE("masters end where the net's type does") {
  // IEEE 754: halfway between the largest number and what would follow it is rounded to infinity.
  const double half = 65504 + 16, bf16_half = std::ldexp(2 - std::ldexp(1.0, -8), 127);
  const DType f32 = DType::f32;
  CHECK(with("Affine_0/W", f32, std::nextafterf(float(half), 0), DType::f16) == "");
  CHECK(with("Affine_0/W", f32, -half, DType::f16) == "Affine_0/W (2, 40) holds 65520, which is infinite in f16");
  CHECK(with("Affine_0/W", f32, half, DType::bf16) == "");
  CHECK(with("Affine_0/W", f32, std::nextafterf(float(bf16_half), 0), DType::bf16) == "");
  CHECK(with("Affine_0/W", f32, bf16_half, DType::bf16).ends_with("infinite in bf16"));
  CHECK(with("Affine_0/W", f32, bf16_half, f32) == "");
  // Only parameters are read in that type.
  CHECK(with("Affine_0/W/square", f32, 1e9, DType::f16) == "");
}

TEST_CASE("a sum of gradients that a batch has spoilt is no divergence") {
  CHECK(with("Affine_0/W/sum", DType::f32, std::nan(""), DType::f32) == "");
}
