// How many threads to use: never the host's cores inside a container.
#pragma once
#include <string>

namespace neon {

// The least of the affinity mask (or what OpenMP binds its threads to), the limits of the process' control groups
// (processors_of_cgroups()) and of OpenMP (team_limit()), and OMP_NUM_THREADS where it is a number of threads; at least
// 1.
int available_threads();

// Processors that this process may use, by the same mask and groups.
int available_processors();

// Why neon uses another number of threads than OMP_NUM_THREADS: it is not a number of threads, or it is more than the
// processors or than OpenMP's limits. Empty where it is unset or obeyed.
std::string threads_note();

}  // namespace neon
