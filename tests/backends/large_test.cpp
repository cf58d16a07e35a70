// Convolutions as neon 1's tests have them, to their tolerance; with 8 samples of the largest instead of 64.
#include <catch2/catch.hpp>

#include "tests/backends/run_case.h"
#include "tests/backends/window_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE(
    "convolutions of neon 1's tests, and their gradients, are within a hundred thousandth of the largest number") {
  for (const OpCase& c : large_convolution_cases(8)) {
    INFO(c.to_string());
    const CaseRun expected = run_case(c, DType::f64, DType::f32, ProgramOptions{.plain = true});
    const CaseRun got = run_case(c, DType::f32, DType::f32, ProgramOptions{.threads = 2});
    CHECK(difference_over_largest(got.outputs[0], expected.outputs[0]) < 1e-5);
  }
}
