// Places in one arena for all values that live between kernels, by lifetime.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// Fills storage, buffers, arena_bytes and value_bytes of a lowered graph whose kernels are in order. A value
// whose life ends where an equally large one begins, in an elementwise kernel, hands its place on.
void plan_memory(Lowered& lowered);

}  // namespace neon
