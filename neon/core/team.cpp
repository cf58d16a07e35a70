#include "neon/core/team.h"

#include <omp.h>

#include <algorithm>

#include "neon/core/error.h"

namespace neon {

int team_limit() {
  if (omp_in_parallel() || omp_get_max_active_levels() < 1) return 1;
  return std::max(1, omp_get_thread_limit());
}

int team_size(int wanted) {
  const int asked = std::min(wanted, team_limit());
  if (asked < 2) return 1;
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
