// Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop after its step; a second, later one leaves at once.
#pragma once

namespace neon {

// Installs the handlers for the life of this object; the former ones come back with its end.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
};

// The signal received since a guard is there, or 0. Read at every safe point.
int stop_signal();

}  // namespace neon
