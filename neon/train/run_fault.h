// A run that a failed kernel ended.
#pragma once
#include <string>

#include "backends/device/device.h"

namespace neon {

// A kernel has failed in a run. `seed` is the run's; `steps` counts those done or begun since it started or resumed.
class RunFault : public KernelFault {
 public:
  RunFault(const std::string& message, const std::string& hint, uint64_t seed, int64_t steps)
      : KernelFault(message, hint), seed_(seed), steps_(steps) {}
  uint64_t seed() const { return seed_; }
  int64_t steps() const { return steps_; }

 private:
  uint64_t seed_;
  int64_t steps_;
};

}  // namespace neon
