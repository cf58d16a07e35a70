// Random graphs give the same results however they are grouped into kernels, ordered and placed in memory.
#include "tests/backends/random_graph.h"

#include <catch2/catch.hpp>

TEST_CASE("random graphs agree fused, kernel by kernel, and plain") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string problem = neon::test::check_random_graph(seed);
    CHECK(problem == "");
  }
}
