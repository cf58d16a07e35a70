// A convolution or a gradient of one as cuDNN's graph interface has it: what plans are made for, and found again by.
#pragma once
#include "backends/cuda/cudnn_plan.h"
#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

struct ConvolutionCase {
  // With every array's channels last, on a GPU that may give a plan so many bytes to work in.
  ConvolutionCase(const LoweredKernel& kernel, const Graph& graph, const LibraryOptions& options,
                  size_t most_workspace);

  // All that plans depend on, save GPU and library.
  std::string key() const;
  // The heuristic's best first; none where there is no engine for it. The handle is one of the calling thread's own.
  std::vector<Plan> plans(cudnnHandle_t handle) const;
  // How many of them the clock may choose among.
  size_t most_timed() const;
  void execute(cudnnHandle_t handle, const Plan& plan, const Operands& at, void* workspace) const;

  // In f32 without tensor cores.
  bool is_exact() const;
  // Whether plans may work in copies of the arrays with a batch.
  bool is_copied() const;
  bool is_of_filters() const { return op->traits.convolution == ConvolutionKind::by_filters; }
  // Multiplications and additions.
  double arithmetic() const;
  // Or their gradient: (K,R,S,C).
  const TensorType& filters() const { return is_of_filters() ? c : b; }
  // Beside `a`, the array whose first axis is the batch.
  const TensorType& other_batch() const { return is_of_filters() ? b : c; }
  // The same of so many images.
  ConvolutionCase of_images(int64_t images) const;

  const Op* op;
  Attributes attributes;
  TensorType a, b, c, bias;
  bool has_bias = false, has_addend = false, relu = false, tf32 = false, timed = false;
  bool adds = false;  // to what c holds
  size_t most_workspace = 0;
};

}  // namespace neon::cuda
