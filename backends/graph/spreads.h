// Max pooling's gradient, made where it is read.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// If one fused kernel alone reads the result of max pooling's gradient, whose windows do not overlap, that kernel makes
// each element as it reads it: see Spread. The result, which has as many numbers as the pooled array had, is then
// neither written nor read. Where windows overlap, that takes longer than it saves. If the reader folds first, as batch
// norm's gradient does, and the device's kernel of pooling's gradient can do its work, two of these take the reader's
// place: one folds, one finishes. For kernels in order that have no memory yet.
void take_spreads(Lowered& lowered, const DeviceKernels& device);

}  // namespace neon
