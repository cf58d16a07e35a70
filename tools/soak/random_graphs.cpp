// Runs random graphs in all ways that must agree, seed after seed:
//   random_graphs FIRST COUNT
// Stops at the first seed that does not, and shows it.
#include <cstdio>
#include <cstdlib>

#include "tests/backends/random_graph.h"

int main(int argc, char** argv) {
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string problem = neon::test::check_random_graph(seed);
    if (!problem.empty()) {
      std::puts(problem.c_str());
      return 1;
    }
  }
  std::printf("%llu random graphs agree\n", static_cast<unsigned long long>(count));
}
