// Limits of the control groups that hold this process: its own and all above it, of versions 1 and 2. A batch system or
// systemd sets limits in a nested group, which the files at the top of /sys/fs/cgroup do not show.
#pragma once
#include <string>

namespace neon {

// Bytes that the groups still give, the least of all of them; infinity without a limit. Files that the kernel caches
// count as free. `root` stands before /proc and /sys: a folder in tests.
double memory_left_in_cgroups(const std::string& root = "");

// Processors by the groups' quotas, rounded up, and by their sets of processors; the least, 1 << 20 without a limit.
int processors_of_cgroups(const std::string& root = "");

}  // namespace neon
