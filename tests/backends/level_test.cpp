// That a level chosen with NEON_SIMD is the level of the library, too.
#include <catch2/catch.hpp>

#include "backends/elementwise/kernels.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

// oneDNN names a kernel after the instructions that it was made for: brg:avx512_core, brgconv:avx2, jit:sse41,
// gemm:jit.
TEST_CASE("the library keeps to the level") {
  const std::string_view level = elementwise::active_level().name;
  int seen = 0;
  for (const OpCase& c : all_cases())
    if (c.fast == "product")
      for (const std::string& ran : run_case(c, DType::f32, DType::f32, {.threads = 2}).implementations) {
        INFO(c.to_string() << " ran " << ran);
        ++seen;
        if (level == "v2") CHECK(ran.find("avx") == ran.npos);
        if (level == "v3") CHECK(ran.find("avx512") == ran.npos);
      }
  CHECK(seen > 0);
}
