#include "neon/cli/slow_note.h"

#include <signal.h>

#include <chrono>

#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr auto kPatience = std::chrono::seconds(1);

}  // namespace

// Signals are for the other threads.
SlowNote::SlowNote(std::string what) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this, what = std::move(what)] {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, kPatience, [this] { return has_ended_; })) print_message(what);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SlowNote::~SlowNote() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

}  // namespace neon
