// Where the time of a training step goes.
#pragma once
#include <string>

#include "neon/train/step_runner.h"

namespace neon {

// A table of the step's kernels, the slowest first: median milliseconds of so many steps, share of their sum,
// implementation, op, result and layer. On a GPU a kernel's time ends where the next begins.
std::string kernel_times(StepRunner& runner, int64_t steps);

}  // namespace neon
