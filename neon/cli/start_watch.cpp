#include "neon/cli/start_watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "neon/core/text.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// Seconds that the next rank waits longer: rank 0 speaks, and whoever started the ranks ends the others, unless it is
// rank 0 that hangs.
constexpr int kApart = 3, kMostApart = 30;

std::string host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

// Signals are for the other thread.
StartWatch::StartWatch(const StartedPlace& place) {
  const double patience = start_patience();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this, place, patience] {
    const std::chrono::duration<double> most(patience + std::min(place.rank * kApart, kMostApart));
    std::unique_lock lock(mutex_);
    if (ended_.wait_for(lock, most, [this] { return has_ended_; })) return;
    print_message(text("neon: rank ", place.rank, place.ranks ? text(" of ", place.ranks) : "", " (", host(),
                       ") has waited for ", int(most.count()),
                       " seconds for the other ranks: one of them hangs, or the ", "hosts cannot reach each other"));
    _exit(exit_code(ErrorKind::failed));
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StartWatch::~StartWatch() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

}  // namespace neon
