// How many threads to use: never the host's cores inside a container.
#pragma once
#include <string>

namespace neon {

// The least of the affinity mask (or what OpenMP binds its threads to), the cgroup's quota (cpu.max or cfs_quota_us,
// rounded up) and OMP_NUM_THREADS where it is a number of threads; at least 1.
int available_threads();

// Why that is not what OMP_NUM_THREADS says: it is no number of threads, or more than there are processors. Empty where
// it is unset or obeyed.
std::string threads_note();

}  // namespace neon
