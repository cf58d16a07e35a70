// Dense blocks on the GPU, against the plain kernels in f64.
#include <catch2/catch.hpp>

#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/dense_block_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

// The greatest error of any result of the plain kernels, which round all that they make to `dtype`.
double error_of_plain(const DenseBlockCase& c, DType dtype, const std::map<std::string, Tensor>& wanted) {
  double out = 0;
  for (const auto& [name, y] : results_of(build_branches(c.build, dtype), {.program = {.plain = true}}))
    out = std::max(out, error_of(y, numbers_of(wanted.at(name))).first);
  return out;
}

}  // namespace

TEST_CASE("dense blocks compute on the GPU what the plain kernels do in f64", "[parts]") {
  for (const DenseBlockCase& c : part_of(dense_block_cases())) {
    const auto wanted = results_of(build_branches(c.build, DType::f64), {.program = {.plain = true}});
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const bool of_16_bits = size_of(dtype) == 2;
      const double allowed = of_16_bits ? 2 * error_of_plain(c, dtype, wanted) + 0.01 : 1e-5;
      for (const auto& [name, y] : results_of(build_branches(c.build, dtype), {.gpu = true})) {
        INFO(name);
        const auto [error, far] = error_of(y, numbers_of(wanted.at(name)));
        CHECK(error < allowed);
        CHECK((of_16_bits || far < kMostOff));
      }
    }
  }
}
