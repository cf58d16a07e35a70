// Random graphs give the same results however they are grouped into kernels, ordered and placed in memory.
#include "tests/backends/random_graph.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/elementwise/kernels.h"

TEST_CASE("random graphs agree fused, kernel by kernel, and plain") {
  // Others for each instruction set.
  const std::string_view levels[] = {"v2", "v3", "v4"};
  const auto level = std::ranges::find(levels, std::string_view(neon::elementwise::active_level().name));
  REQUIRE(level != std::end(levels));
  constexpr uint64_t kSeeds = 120;
  const uint64_t first = uint64_t(level - levels) * kSeeds;
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    const std::string problem = neon::test::check_random_graph(seed);
    CHECK(problem == "");
  }
}

TEST_CASE("random graphs of 16-bit numbers assign their variables numbers of their types") {
  for (uint64_t seed = 0; seed < 200; ++seed)
    for (neon::DType dtype : {neon::DType::f16, neon::DType::bf16})
      CHECK_NOTHROW(neon::test::random_graph(seed, {.dtype = dtype}));
}
