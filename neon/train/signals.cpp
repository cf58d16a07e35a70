#include "neon/train/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace neon {

namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);
struct sigaction former_interrupt, former_terminate;

void on_signal(int signal) {
  if (received.exchange(signal) != 0) _exit(128 + signal);
}

// What is ignored stays so: a shell says thereby that a program in the background is not meant.
void install(int signal, const struct sigaction& action, struct sigaction& former) {
  sigaction(signal, &action, &former);
  if (former.sa_handler == SIG_IGN) sigaction(signal, &former, nullptr);
}

}  // namespace

SignalGuard::SignalGuard() {
  received = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  install(SIGINT, action, former_interrupt);
  install(SIGTERM, action, former_terminate);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &former_interrupt, nullptr);
  sigaction(SIGTERM, &former_terminate, nullptr);
  received = 0;
}

int stop_signal() { return received; }

}  // namespace neon
