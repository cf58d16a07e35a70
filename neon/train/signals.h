// Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop after its step; a second, later one leaves at once.
#pragma once
#include <cstdint>

namespace neon {

class Ranks;

// Installs the handlers for the life of this object; the former ones come back with its end. With `ranks`, which may be
// null, stop_signal() is 0 until the ranks have agreed.
class SignalGuard {
 public:
  explicit SignalGuard(const Ranks* ranks = nullptr);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
};

// The signal received since a guard is there, or 0. Read at every safe point. Several ranks read the
// signal on which they agreed last.
int stop_signal();

// Whether this process has received one, on which ranks may not have agreed yet; also after the guard is gone.
bool stop_asked();

// All ranks stop at the same step: the ranks agree on a signal that any of them got, or whoever started them, and on
// the least of their numbers `most`, which this returns; 0 where there is a signal.
int64_t agree_on_signals(Ranks& ranks, int64_t most);

}  // namespace neon
