// A gradient of a convolution's data as a convolution forward: of what it is given, (N,P,Q,K), by the filters w
// (K,R,S,C) turned around, (C,R,S,K) with R and S in reverse. In exact f32 some of cuDNN's convolutions are far faster
// than its gradients: on 12x12 and 13x13 pixels three times, with cuDNN 9.19 on an H200.
#pragma once
#include "backends/graph/lower.h"

namespace neon::cuda {

// Whether a kernel is such a gradient: in f32, of filters that see several pixels. Filters that see one pixel are a
// product.
bool is_turnable(const LoweredKernel& kernel, const Graph& graph);

// The forward convolution, in `to`. Its inputs are added to `to`: the gradient that the kernel of `graph` is given, and
// the filters turned around.
LoweredKernel turned_forward(const LoweredKernel& kernel, const Graph& graph, Graph& to);

// Bytes of the filters turned around, rounded up so that the memory behind them is aligned like memory of its own.
size_t turned_bytes(const TensorType& w);

// The kernel (const float* w, float* turned, int maps, int places, int channels) that turns filters around, and how
// many blocks of kThreads it takes.
std::string turning_text();
int64_t turning_blocks(const Shape& w);

// Side of the squares; the kernel's text does not define it.
constexpr int kSquare = 32;

}  // namespace neon::cuda
