#include "neon/cli/start_watch.h"

#include <unistd.h>

#include <algorithm>

#include "neon/core/text.h"
#include "neon/train/clock.h"
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

}  // namespace

std::string name_of(const StartedPlace& place) {
  return text("rank ", place.rank, place.ranks ? text(" of ", place.ranks) : "", " (", host(), ")");
}

namespace {

[[noreturn]] void give_up(const StartedPlace& place, double seconds, double since) {
  // One that was stopped for so long has made the others wait, and one of them has given up: it will be ended.
  if (now_seconds() > since + seconds + 1) sleep(3);
  print_message(text("neon: ", name_of(place), " has waited for ", int(seconds),
                     " seconds for the other ranks: one of them hangs, or the hosts cannot reach each other"));
  _exit(exit_code(ErrorKind::failed));
}

}  // namespace

StartWatch::StartWatch(const StartedPlace& place)
    : later_(std::chrono::duration<double>(patience_of(place)),
             [place, seconds = patience_of(place), since = now_seconds()] { give_up(place, seconds, since); }) {}

}  // namespace neon
