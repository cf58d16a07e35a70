// The cases of exchanges in processes that mpirun has started: each runs all cases, and is one of the ranks.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>

#include "backends/ranks/started_ranks.h"
#include "neon/core/error.h"
#include "rank_team.h"
#include "tests/run_cases.h"

namespace {

std::unique_ptr<neon::StartedRanks> ranks;
int teams = 0;

int run(int argc, char** argv) {
  const auto place = neon::started_place();
  if (!place) return std::fputs("this needs mpirun -np N, for N of 2 or more\n", stderr), 2;
  ranks = neon::join_started_ranks(*place);
  const int failed = run_cases(argc, argv);
  ranks->end({.ended = true});
  if (teams == 0) std::fprintf(stderr, "no case is for %d ranks\n", ranks->size());
  return failed || teams == 0;
}

}  // namespace

void neon_test::as_ranks(int count, const std::function<void(neon::Ranks&)>& work) {
  if (count != ranks->size()) return;
  ++teams;
  work(*ranks);
}

namespace {

class Clock : public neon::Awaited {
 public:
  bool is_done() const override { return std::chrono::steady_clock::now() > end_; }

 private:
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(9);
};

}  // namespace

// Rank 0 asks whoever it waits for after 6 seconds, and takes one that has not answered 2 seconds later for hung.
TEST_CASE("a rank that waits for its device answers the others") {
  double sum = 0;
  neon_test::as_ranks(2, [&](neon::Ranks& each) {
    each.set_started();
    if (each.rank() == 1) each.wait_for_device(Clock());
    sum = 3 + each.rank();
    each.sum({&sum, 1});
  });
  CHECK((sum == 0 || sum == 7));
}

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const neon::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
