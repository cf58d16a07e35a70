// How much memory a run may still take: never the host's inside a container.
#pragma once

namespace neon {

// Bytes: the least of what the kernel calls available and what the cgroup leaves, files that it holds in memory taken
// as free. Data that are not always needed may also go to the swap.
double free_memory(bool with_swap = false);

}  // namespace neon
