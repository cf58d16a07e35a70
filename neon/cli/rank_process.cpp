#include "neon/cli/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace neon {

namespace {

struct Place {
  std::shared_ptr<SharedBoard> board;
  std::unique_ptr<SharedRanks> ranks;
};

// Set once, before anything else runs.
Place& own_place() {
  static Place place;
  return place;
}

}  // namespace

void join_ranks() {
  const char* const given = std::getenv(kRankVariable);
  if (!given) return;
  int rank = 0, descriptor = -1, parent = 0;
  if (std::sscanf(given, "%d %d %d", &rank, &descriptor, &parent) != 3 || rank < 0)
    fail(ErrorKind::config, kRankVariable, " is '", given, "', no place of a rank; neon sets it, so leave it out");
  unsetenv(kRankVariable);  // programs that this one starts are no ranks
  // No rank outlives whoever started it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::exit(exit_code(ErrorKind::failed));
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  Place& place = own_place();
  place.board = SharedBoard::open(descriptor);
  place.ranks = std::make_unique<SharedRanks>(place.board, rank);
}

Ranks* own_ranks() { return own_place().ranks.get(); }

bool end_rank(int code, const std::string& cause) {
  const Place& place = own_place();
  if (!place.ranks) return false;
  RankBoard& board = **place.board;
  RankRecord& record = board.records[place.ranks->rank()];
  if (record.ended) return true;
  record.code = code;
  std::snprintf(record.cause, sizeof record.cause, "%s", cause.c_str());
  record.ended_at = ++board.endings;
  record.ended = 1;
  if (code != 0 && code <= 128) board.lost = 1;
  return true;
}

void write_as_rank(RunOptions& options) {
  if (!own_ranks() || own_ranks()->leads()) return;
  options.output_file.clear(), options.log_file.clear();
  options.progress_bar = false;
}

}  // namespace neon
