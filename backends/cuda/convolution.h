// Convolution and its gradients by cuDNN, channels last, with bias and relu in the same kernel. neon takes the first of
// the heuristic's plans, the same each time. If the clock may choose, neon takes the fastest of the first few. The
// choice is remembered on disk.
#pragma once
#include <functional>

#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// Whether some axis has another padding before than after.
bool has_uneven_padding(const Attributes& attributes);

// Opens cuDNN, then asks for the device to make plans for that are on disk, one of each kind, since the library opens
// what it makes them with for the first. By a thread of its own; what cannot be opened says so where it is called.
void open_convolution_library(const std::function<std::shared_ptr<Device>()>& open_device);

// The plans of a GPU's convolutions, which its programs keep.
std::shared_ptr<ConvolutionPlans> make_convolution_plans(std::shared_ptr<Device> device);

// Has options.plans make those that make_convolution() will ask for: by several threads, where it would be one.
void plan_convolutions(const std::vector<const LoweredKernel*>& kernels, const Graph& graph, const Device& device,
                       const LibraryOptions& options);

// Null when cuDNN has no engine for the case: an empty array, f64, uneven padding or sizes that no engine takes.
std::unique_ptr<OperandsKernel> make_convolution(const LoweredKernel& kernel, const Graph& graph,
                                                 std::shared_ptr<Device> device, const LibraryOptions& options);

// Bytes that a convolution may use at most to work in.
size_t convolution_workspace(const LoweredKernel& kernel, const Graph& graph, bool tf32, const Device& device);

// The version of cuDNN.
size_t convolution_version();

}  // namespace neon::cuda
