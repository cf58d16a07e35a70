// Ends this rank where the ranks that mpirun or srun started do not meet: one hangs, and MPI waits for it without end.
#pragma once
#include "backends/ranks/started_ranks.h"
#include "neon/cli/later.h"

namespace neon {

// "rank 1 of 2 (HOST)", before ranks have met.
std::string name_of(const StartedPlace& place);

class StartWatch {
 public:
  explicit StartWatch(const StartedPlace& place);

 private:
  Later later_;
};

}  // namespace neon
