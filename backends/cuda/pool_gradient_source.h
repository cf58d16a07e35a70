// Source of max pooling's gradient. A thread has a tile of the array, as many elements along an axis as windows are
// apart, or two where they are neighbours, so that each window is read once for all that it sees there; neighbouring
// threads have neighbouring channels. Where windows do not overlap, what a window is given is moved as it lies in
// memory.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

// With a derivative and sums, see LoweredKernel, those in one pass: blocks add up what they spread, channel by channel,
// and the last of the blocks with the same channels puts the parts together, always in the same order.
Source pool_gradient_source(const LoweredKernel& kernel, SourceContext& context);

// The hook of lowering, DeviceKernels::walks_pooling: windows see each channel by itself, few have an element, and the
// code reads arrays at each place, and numbers of channels.
bool walks_pooling(const LoweredKernel& pooling, const Graph& graph, const FusedKernel& folds,
                   const FusedKernel& finish);

}  // namespace neon::cuda
