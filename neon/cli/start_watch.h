// Ends this rank where the ranks that mpirun or srun started do not meet: one hangs, and MPI waits for it without end.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "backends/ranks/started_ranks.h"

namespace neon {

class StartWatch {
 public:
  explicit StartWatch(const StartedPlace& place);
  StartWatch(const StartWatch&) = delete;
  ~StartWatch();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::jthread thread_;
};

}  // namespace neon
