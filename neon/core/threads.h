// How many threads to use: never the host's cores inside a container.
#pragma once

namespace neon {

// The least of the affinity mask, the cgroup's quota (cpu.max or cfs_quota_us, rounded up) and
// OMP_NUM_THREADS where it is set; at least 1.
int available_threads();

}  // namespace neon
