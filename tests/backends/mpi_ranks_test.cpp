// The cases of exchanges in processes that mpirun has started: each runs all cases, and is one of the ranks.
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

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const neon::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
