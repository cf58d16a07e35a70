// Trainings in 16 bits whose weights the update casts, beside those whose weights are cast anew before every step.
#pragma once
#include "tests/backends/nets.h"

namespace neon::test {

// Of steps of two programs in turn, one of them left out as not finite, then of weights set by the host: the first
// number in which the two trainings differ, or "".
std::string kept_difference(Net (*make)(DType dtype, int64_t batch), DType dtype, const DeviceOptions& options);

}  // namespace neon::test
