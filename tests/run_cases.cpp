#include "tests/run_cases.h"

#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_DEFAULT_REPORTER "counting"
#include <catch2/catch.hpp>
#include <cstdio>

namespace {

constexpr int kSkipped = 77;  // Meson's

// Prints as Catch2's console does, and counts. A listener could count, too, but Catch2 then prepares a report of each
// assertion that passes, with several allocations: a suite of millions of assertions took 8 % longer.
struct Counter : Catch::ConsoleReporter {
  using ConsoleReporter::ConsoleReporter;
  static inline int passed = 0, failed = 0;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++(stats.totals.assertions.allOk() ? passed : failed);
    ConsoleReporter::testCaseEnded(stats);
  }
};
CATCH_REGISTER_REPORTER("counting", Counter)

}  // namespace

int run_cases(int argc, char** argv) { return Catch::Session().run(argc, argv); }

int run_or_skip_cases(int argc, char** argv, const std::string& why_not) {
  Catch::Session session;
  if (const int problem = session.applyCommandLine(argc, argv)) return problem;
  if (!why_not.empty()) {
    const auto& chosen = session.config();
    const size_t cases = Catch::filterTests(Catch::getAllTestCasesSorted(chosen), chosen.testSpec(), chosen).size();
    std::printf("%s\n0 passed, 0 failed, %zu skipped\n", why_not.c_str(), cases);
    return kSkipped;
  }
  const int result = session.run();
  std::printf("%d passed, %d failed, 0 skipped\n", Counter::passed, Counter::failed);
  return result;
}
