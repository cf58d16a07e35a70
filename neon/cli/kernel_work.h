// How much a kernel computes and moves, and how much the machine can.
#pragma once
#include "backends/device/device.h"

namespace neon {

struct KernelWork {
  double flops = 0;  // multiplications, additions, comparisons and functions
  double bytes = 0;  // of the arrays that it reads and writes, each once
};
KernelWork work_of(const LoweredKernel& kernel, const Lowered& lowered);

// The best rates of the device: in a product of large matrices of this type, and in a sum over arrays larger than its
// caches.
struct Ceiling {
  double flops_per_second = 0, bytes_per_second = 0;
  // The share of what the device can do in these milliseconds, by what binds it more.
  double share(const KernelWork& work, double milliseconds) const;
};
Ceiling measure_ceiling(DType type, const DeviceOptions& device);

}  // namespace neon
