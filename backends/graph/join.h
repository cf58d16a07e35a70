// Concatenations without a kernel.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// Whether a kernel that is no fused one can write a result in rows of so many elements that lie apart. Convolutions
// can all do so if `any_convolution`; if not, those can whose filters see single pixels, where a row is one. Gradients
// of attention write rows of a step.
bool is_writer(const LoweredKernel& kernel, Value result, const Graph& graph, bool any_convolution, int64_t row);

// Elements of `part` that lie together in its concatenation along an axis.
int64_t row_of_part(const Graph& graph, Value part, int axis);
// Whether every part's rows begin where kernels can write them.
bool has_aligned_rows(const Graph& graph, const std::vector<Value>& parts, int axis);

// Gives the inputs of concatenations places in the memory of the result, where the kernels that make them write, and
// takes away the kernels that would copy them there. `any_convolution` as above. For kernels in order that have no
// memory yet.
void join_concatenations(Lowered& lowered, bool any_convolution);

}  // namespace neon
