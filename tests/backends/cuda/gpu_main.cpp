// The GPU suites' own main: where there is no GPU everything is skipped, counted and said. One line closes it:
// "N passed, N failed, N skipped".
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>

#include "backends/device/device.h"

namespace {

struct Counter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  static inline int passed = 0, failed = 0;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++(stats.totals.assertions.allOk() ? passed : failed);
  }
};
CATCH_REGISTER_LISTENER(Counter)

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int problem = session.applyCommandLine(argc, argv)) return problem;
  std::string why_not;
  if (!neon::gpu_module(why_not)) {
    const size_t cases = Catch::getAllTestCasesSorted(session.config()).size();
    std::printf("no GPU: %s\n0 passed, 0 failed, %zu skipped\n", why_not.c_str(), cases);
    return 77;
  }
  const int result = session.run();
  std::printf("%d passed, %d failed, 0 skipped\n", Counter::passed, Counter::failed);
  return result;
}
