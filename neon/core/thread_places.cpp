#include "neon/core/thread_places.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace neon {

namespace {

constexpr int kMost = 256;                              // threads that are looked at
constexpr std::chrono::milliseconds kBetweenLooks{10};  // some steps of the smallest nets

int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// By way of a mask of that processor alone.
bool move_to(int processor) {
  cpu_set_t own, one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_getaffinity(0, sizeof own, &own) != 0 || !CPU_ISSET(processor, &own)) return false;
  if (sched_setaffinity(0, sizeof one, &one) != 0) return false;
  sched_setaffinity(0, sizeof own, &own);
  return true;
}

// A processor in `allowed` that is not in `taken`, and then is; -1 where all are.
int take_free(const cpu_set_t& allowed, cpu_set_t& taken) {
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || CPU_ISSET(processor, &taken)) continue;
    CPU_SET(processor, &taken);
    return processor;
  }
  return -1;
}

}  // namespace

int part_threads(int threads) {
  threads = std::min(threads, kMost);
  int places[kMost], team = 1;
#pragma omp parallel num_threads(threads)
  {
    places[omp_get_thread_num()] = sched_getcpu();
#pragma omp single
    team = omp_get_num_threads();
  }
  cpu_set_t allowed, taken;
  CPU_ZERO(&taken);
  int sharing[kMost], count = 0;
  for (int t = 0; t < team; ++t) {
    const int place = places[t];
    if (place < 0 || place >= CPU_SETSIZE) return 0;  // the system does not say
    if (CPU_ISSET(place, &taken)) sharing[count++] = t;
    CPU_SET(place, &taken);
    places[t] = -1;
  }
  if (count == 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  for (int i = 0; i < count; ++i) places[sharing[i]] = take_free(allowed, taken);
  int moved = 0;
#pragma omp parallel num_threads(team) reduction(+ : moved)
  if (const int thread = omp_get_thread_num(); thread < team && places[thread] >= 0) moved += move_to(places[thread]);
  return moved;
}

void keep_threads_apart(int threads) {
  static const int64_t between = std::chrono::steady_clock::duration(kBetweenLooks).count();
  static std::atomic<int64_t> last = now();
  if (threads < 2 || now() - last.load(std::memory_order_relaxed) < between) return;
  last.store(now(), std::memory_order_relaxed);
  part_threads(threads);
}

}  // namespace neon
