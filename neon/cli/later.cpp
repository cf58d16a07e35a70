#include "neon/cli/later.h"

#include <signal.h>

namespace neon {

// Signals are for the other threads.
Later::Later(std::chrono::duration<double> patience, std::function<void()> act) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this, patience, act = std::move(act)] {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, patience, [this] { return has_ended_; })) act();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Later::~Later() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

}  // namespace neon
