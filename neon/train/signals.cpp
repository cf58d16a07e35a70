#include "neon/train/signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "backends/ranks.h"

namespace neon {

namespace {

std::atomic<int> received = 0;
std::atomic<int64_t> received_at = 0;  // nanoseconds
std::atomic<bool> has_ranks = false;
std::atomic<int> agreed = 0;  // by the ranks
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

// SIGHUP comes when a terminal or a connection closes.
constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction former[std::size(kStops)];

// timeout(1) signals its command, and then the group that it is in: that comes twice, sooner than anyone asks again.
constexpr int64_t kSameRequest = 100'000'000;

int64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void on_signal(int signal) {
  const int64_t now = nanoseconds();
  int64_t first = 0;
  if (received_at.compare_exchange_strong(first, now)) received = signal;
  else if (now - first > kSameRequest) _exit(128 + signal);
}

// A signal that is ignored stays so: a shell ignores those that are not meant for a program in the background.
void install(int signal, const struct sigaction& action, struct sigaction& earlier) {
  struct sigaction before {};
  sigaction(signal, &action, &before);
  if (before.sa_handler != on_signal) earlier = before;
  if (earlier.sa_handler == SIG_IGN) sigaction(signal, &earlier, nullptr);
}

}  // namespace

SignalGuard::SignalGuard(const Ranks* ranks) {
  received = 0, received_at = 0;
  // A rank that stopped by its own signal would no longer take part in what the others exchange.
  has_ranks = ranks != nullptr, agreed = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kStops); ++i) install(kStops[i], action, former[i]);
}

// A program that was stopped is about to end: what is left of the same request must not kill it before it has said so.
SignalGuard::~SignalGuard() {
  if (received.exchange(0)) return;
  for (size_t i = 0; i < std::size(kStops); ++i) sigaction(kStops[i], &former[i], nullptr);
  received_at = 0;
}

int stop_signal() { return has_ranks ? agreed : received; }

bool stop_asked() { return received_at != 0; }

int64_t agree_on_signals(Ranks& ranks, int64_t most) {
  const int own = received ? received.load() : ranks.signal();
  const double numbers[] = {double(own), double(most)};
  const std::vector<double> all = ranks.gather(numbers);
  int signal = 0;
  for (size_t k = 0; k < all.size(); k += 2) {
    signal = std::max(signal, int(all[k]));
    most = std::min(most, int64_t(all[k + 1]));
  }
  agreed = signal;
  return signal ? 0 : most;
}

}  // namespace neon
