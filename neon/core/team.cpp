#include "neon/core/team.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <thread>
#include <vector>

#include "neon/core/error.h"

namespace neon {

int team_limit() {
  if (omp_in_parallel() || omp_get_max_active_levels() < 1) return 1;
  return std::max(1, omp_get_thread_limit());
}

namespace {

// Starts so many threads, this one among them, and lets them end; once for each number that is more than before.
void start_threads(int count) {
  static std::atomic<int> started = 1;
  if (count <= started) return;
  std::latch all_tried(1);
  std::vector<std::jthread> threads;
  try {
    for (int i = 1; i < count; ++i) threads.emplace_back([&] { all_tried.wait(); });
  } catch (const std::exception& error) {
    all_tried.count_down();
    fail(ErrorKind::memory, "only ", threads.size() + 1, " of ", count, " threads can be started: ", error.what(),
         "; is there a limit on processes or memory (ulimit -u, ulimit -v)? OMP_NUM_THREADS=N asks for fewer");
  }
  all_tried.count_down();
  started = count;
}

}  // namespace

int team_size(int wanted) {
  const int asked = std::min(wanted, team_limit());
  if (asked < 2) return 1;
  start_threads(asked);
  const Team team(asked);
  int size = 1;
#pragma omp parallel
#pragma omp single
  size = omp_get_num_threads();
  return size;
}

Team::Team(int threads) : callers_threads_(omp_get_max_threads()), callers_dynamic_(omp_get_dynamic()) {
  if (const int most = team_limit(); most < threads)
    fail(ErrorKind::failed, "a program made for ", threads, " threads cannot run where OpenMP gives ", most,
         omp_in_parallel() ? ", inside a parallel region: make the program there, or run it outside" : "");
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

Team::~Team() {
  omp_set_dynamic(callers_dynamic_);
  omp_set_num_threads(callers_threads_);
}

}  // namespace neon
