#include "neon/core/free_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "neon/core/cgroups.h"

namespace neon {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// The number after `key` at the start of a line of a small file of the kernel; infinity without such a line.
double number_in(const char* path, const char* key) {
  double out = kUnknown;
  FILE* file = std::fopen(path, "r");
  if (!file) return out;
  char line[256];
  while (std::fgets(line, sizeof line, file)) {
    if (std::strncmp(line, key, std::strlen(key)) != 0) continue;
    double value = 0;
    if (std::sscanf(line + std::strlen(key), "%lf", &value) == 1) out = value;
    break;
  }
  std::fclose(file);
  return out;
}

double known_number(double value) { return value < kUnknown ? value : 0; }

}  // namespace

double resident_memory() { return 1024 * known_number(number_in("/proc/self/status", "VmRSS:")); }

double free_memory(bool with_swap) {
  const double swap = with_swap ? known_number(number_in("/proc/meminfo", "SwapFree:")) : 0;
  const double free = 1024 * (number_in("/proc/meminfo", "MemAvailable:") + swap);
  return std::max(0.0, std::min(free, memory_left_in_cgroups()));
}

}  // namespace neon
