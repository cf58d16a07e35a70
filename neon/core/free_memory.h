// How much memory a run may still take: never the host's inside a container.
#pragma once

namespace neon {

// Bytes: the least of what the kernel calls available and what the process' control groups leave
// (memory_left_in_cgroups()). Data that are not always needed may also go to the swap.
double free_memory(bool with_swap = false);

// Bytes of memory that this process has now; 0 where the kernel does not say.
double resident_memory();

}  // namespace neon
