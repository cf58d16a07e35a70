// Max pooling's gradient, made where it is read.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// If one fused kernel alone reads the result of max pooling's gradient, whose windows do not overlap, that kernel makes
// each element as it reads it: see Spread. The result, which has as many numbers as the pooled array had, is then
// neither written nor read. For kernels in order that have no memory yet.
void take_spreads(Lowered& lowered);

}  // namespace neon
