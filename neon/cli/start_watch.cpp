#include "neon/cli/start_watch.h"

#include <unistd.h>

#include <algorithm>

#include "neon/core/text.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// Seconds that the next rank waits longer: rank 0 speaks, and whoever started the ranks ends the others, unless it is
// rank 0 that hangs.
constexpr int kApart = 3, kMostApart = 30;

double patience_of(const StartedPlace& place) { return start_patience() + std::min(place.rank * kApart, kMostApart); }

std::string host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

[[noreturn]] void give_up(const StartedPlace& place, double seconds) {
  print_message(text("neon: rank ", place.rank, place.ranks ? text(" of ", place.ranks) : "", " (", host(),
                     ") has waited for ", int(seconds),
                     " seconds for the other ranks: one of them hangs, or the hosts cannot reach each other"));
  _exit(exit_code(ErrorKind::failed));
}

}  // namespace

StartWatch::StartWatch(const StartedPlace& place)
    : later_(std::chrono::duration<double>(patience_of(place)),
             [place, seconds = patience_of(place)] { give_up(place, seconds); }) {}

}  // namespace neon
