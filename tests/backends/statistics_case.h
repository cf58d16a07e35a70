// Batch norm where sums of squares or a mean in f32 would lose digits: of numbers far from 0, equal ones, ones beside
// which the first lies far away. Expected values are two readings in f64.
#pragma once
#include <string>

#include "backends/device/device.h"

namespace neon::test {

// The first of a device's means, variances and results that is far off; empty where all are near.
std::string difference_of_statistics(const DeviceOptions& device);

// The same for results and gradients of numbers near 5000 whose deviation is 1, in f32: of many rows, of few, of axes
// in the middle, and of numbers that a kernel makes as it reads them.
std::string difference_of_gradients(const DeviceOptions& device);

}  // namespace neon::test
