// Batch norm's statistics where sums of squares would lose them: of numbers far from 0, equal ones, ones beside which
// the first lies far away.
#pragma once
#include <string>

#include "backends/device/device.h"

namespace neon::test {

// Empty where a device's mean, variance and result are near those of two readings in f64, else what is not.
std::string difference_of_statistics(const DeviceOptions& device);

}  // namespace neon::test
