// A kernel that a library brings: a matrix product, a convolution, attention.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/cold_start.h"
#include "backends/cuda/driver.h"
#include "backends/graph/lower.h"

namespace neon::cuda {

class LibraryKernel {
 public:
  virtual ~LibraryKernel() = default;
  virtual const char* library() const = 0;
  // Addresses of the arrays, in the kernel's own order. The workspace has at least workspace_bytes(); nothing is kept
  // there.
  virtual void run(std::span<void* const> arrays, void* workspace) = 0;
  virtual size_t workspace_bytes() const = 0;
  // The plans that it runs; equal kernels share them.
  virtual std::vector<const void*> plans() const { return {this}; }
};

// Addresses of two operands, of what is added to their result, or null: a bias, an array like it; of the result; and of
// its sums and those of its squares, relative to its first row, or null.
struct Operands {
  const void *a, *b, *bias, *addend;
  void* c;
  void* folds[2] = {};
};

// A kernel of two operands. Its arrays are in the order of these.
class OperandsKernel : public LibraryKernel {
 public:
  virtual void launch(const Operands& at, void* workspace) = 0;
  void run(std::span<void* const> arrays, void* workspace) final {
    launch({arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], {arrays[5], arrays[6]}}, workspace);
  }
};

class ConvolutionPlans;

struct LibraryOptions {
  bool timed = false;  // the clock may choose among a library's algorithms; otherwise the same ones are taken each time
  bool tf32 = false;
  ColdStart* cold = nullptr;          // begins when a choice is not on disk
  ConvolutionPlans* plans = nullptr;  // of the GPU
  size_t piece_bytes = 0;             // as DeviceOptions has it
  size_t reserved = 0;                // bytes for the program's values, which are taken once all is chosen
};

}  // namespace neon::cuda
