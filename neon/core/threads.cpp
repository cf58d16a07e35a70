#include "neon/core/threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace neon {

namespace {

// Reads at most 255 bytes of a small file of the kernel; empty when it is absent.
std::string first_line(const char* path) {
  char buffer[256] = {};
  if (FILE* file = std::fopen(path, "r")) {
    if (!std::fgets(buffer, sizeof buffer, file)) buffer[0] = 0;
    std::fclose(file);
  }
  return buffer;
}

int cgroup_quota() {
  double quota = 0, period = 0;
  if (std::sscanf(first_line("/sys/fs/cgroup/cpu.max").c_str(), "%lf %lf", &quota, &period) != 2) {
    quota = std::atof(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str());
    period = std::atof(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str());
  }
  return quota > 0 && period > 0 ? std::max(1, int(std::ceil(quota / period))) : 1 << 20;
}

}  // namespace

int available_threads() {
  cpu_set_t mask;
  int threads = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  threads = std::min(threads, cgroup_quota());
  if (const char* wanted = std::getenv("OMP_NUM_THREADS"))
    if (std::atoi(wanted) > 0) threads = std::min(threads, std::atoi(wanted));
  return std::max(1, threads);
}

}  // namespace neon
