#include "neon/core/threads.h"

#include <catch2/catch.hpp>

#include "neon/core/text.h"
#include "tests/support/variable.h"

using namespace neon;
using neon_test::Variable;

namespace {

int processors() {
  const Variable unset("OMP_NUM_THREADS", nullptr);
  return available_threads();
}

}  // namespace

TEST_CASE("OMP_NUM_THREADS makes threads fewer, never more") {
  const int all = processors();
  // The number of the outermost loops, where those inside them have numbers, too.
  for (const char* one : {"1", " 1 ", "1,4", "1 , 2", "+1"}) {
    INFO(one);
    const Variable given("OMP_NUM_THREADS", one);
    CHECK(available_threads() == 1);
    CHECK(threads_note() == "");
  }
  const Variable given("OMP_NUM_THREADS", std::to_string(all).c_str());
  CHECK(available_threads() == all);
  CHECK(threads_note() == "");
  for (const std::string& many : {std::to_string(all + 1), std::to_string(1000000000)}) {
    const Variable more("OMP_NUM_THREADS", many.c_str());
    CHECK(available_threads() == all);
    CHECK(threads_note() == text("OMP_NUM_THREADS is '", many, "', more than this process has processors: neon uses ",
                                 all, all == 1 ? " thread" : " threads"));
  }
}

TEST_CASE("an OMP_NUM_THREADS that is no number of threads changes nothing, and is told") {
  const int all = processors();
  for (const char* bad :
       {"", " ", "abc", "-3", "0", "1e9", "2.5", "1,", "1,x", ",1", "1;2", "0x1", "99999999999999999999"}) {
    INFO(bad);
    const Variable given("OMP_NUM_THREADS", bad);
    CHECK(available_threads() == all);
    CHECK(threads_note() == text("OMP_NUM_THREADS is '", bad, "', not a number of threads (1 or more): neon uses ", all,
                                 all == 1 ? " thread" : " threads"));
  }
  const Variable unset("OMP_NUM_THREADS", nullptr);
  CHECK(threads_note() == "");
}
