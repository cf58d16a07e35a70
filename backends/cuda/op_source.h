// Source of kernels of ops that are not fused. Writers register under the op's name, each family in a file of its own.
#pragma once
#include <string_view>

#include "backends/cuda/source.h"

namespace neon::cuda {

using SourceWriter = Source (*)(const LoweredKernel& kernel, SourceContext& context);

// `functions`: device text that stands before all kernels of the op.
struct SourceRegistration {
  SourceRegistration(std::string_view op, SourceWriter writer, std::string_view functions = {});
};

// Whether kernels of the op can be generated.
bool has_source(const Op& op);
// Throws where no writer is registered for the op. Kernels of nothing are written for every op alike.
Source op_source(const LoweredKernel& kernel, SourceContext& context);
// Whether a kernel is asked of a library first: large products, and convolutions, but of no inputs bound as sequences.
bool asks_library(const LoweredKernel& kernel, const SourceContext& context);
// The arrays of such a kernel in the order of Operands, with an invalid Value for each that it lacks. Attention has its
// inputs, then its outputs.
std::vector<Value> library_arrays(const LoweredKernel& kernel);

// The arithmetic of a kernel of an op: f64 where it takes or makes that or integers, else f32.
DType arithmetic_of(const LoweredKernel& kernel, const Graph& graph);

}  // namespace neon::cuda
