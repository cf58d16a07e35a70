#include "neon/train/output_reader.h"

#include <poll.h>

#include <atomic>

#include "neon/train/signals.h"

namespace neon {

namespace {

constexpr int kTick = 50, kRenew = 20;  // milliseconds of a wait, and waits until the next call of `renew`
constexpr int kTicksAfterSignal = 4;    // for all messages together: mpirun leaves a second for the end of a run

bool no_news(bool) { return false; }
std::atomic<bool (*)(bool)> renew = no_news;
std::atomic<int> waited_after_signal = 0;

// A stream that is closed or broken is for whoever writes to it.
bool takes_more(int stream, int milliseconds) {
  pollfd of{stream, POLLOUT, 0};
  return poll(&of, 1, milliseconds) > 0;
}

}  // namespace

bool wait_for_reader(int stream) {
  bool there = takes_more(stream, 0), stops = false;
  if (there) return true;
  for (int ticks = 0; !there; ++ticks) {
    if (ticks % kRenew == 0) stops = renew.load()(true);
    if ((stops || stop_asked()) && waited_after_signal++ >= kTicksAfterSignal) break;
    there = takes_more(stream, kTick);
  }
  renew.load()(false);
  return there;
}

void on_wait_for_reader(bool (*given)(bool)) { renew = given; }

}  // namespace neon
