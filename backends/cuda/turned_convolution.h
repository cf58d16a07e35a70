// Gradients of convolutions' data by cuDNN's convolutions, of filters that a kernel of ours turns around first.
#pragma once
#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// The name that its library() returns.
constexpr const char* kTurned = "cudnn turned";

// Bytes that make_turned_convolution() may use at most to work in.
size_t turned_workspace(const LoweredKernel& kernel, const Graph& graph, const Device& device);

// For a kernel that is_turnable(); null if cuDNN has no engine for the convolution.
std::unique_ptr<OperandsKernel> make_turned_convolution(const LoweredKernel& kernel, const Graph& graph,
                                                        std::shared_ptr<Device> device, const LibraryOptions& options);

}  // namespace neon::cuda
