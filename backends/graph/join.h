// Concatenations without a kernel.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// Gives the inputs of concatenations places in the memory of the result, where the kernels that make them write, and
// takes away the kernels that would copy them there. `writers` are the ops that can do so, beside fused kernels. For
// kernels in order that have no memory yet.
void join_concatenations(Lowered& lowered, const std::vector<std::string_view>& writers);

}  // namespace neon
