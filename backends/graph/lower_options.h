// The properties of a device for lowering: the passes that it wants, and what its kernels can do.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "neon/core/dtype.h"

namespace neon {

class Graph;
struct FusedKernel;
struct Lowered;
struct LoweredKernel;
struct Node;
struct RowProduct;

// Passes that a device may want or not; pass_table.cpp says what each does, and what wants it. All others always run.
enum class LowerPass : uint8_t {
  fusion,
  kept_casts,
  folded_scales,
  dense_blocks,
  siblings,
  columns,
  deep_inputs,
  product_gradients,
  remake,
  prologues,
  join,
  spreads,
  row_products,
  both_gradients,
  moved_folds,
};

class PassSet {
 public:
  constexpr PassSet() = default;
  constexpr PassSet(LowerPass pass) : bits_(1u << unsigned(pass)) {}
  constexpr PassSet(std::initializer_list<LowerPass> passes) {
    for (LowerPass pass : passes) bits_ |= PassSet(pass).bits_;
  }
  constexpr bool has(LowerPass pass) const { return bits_ & PassSet(pass).bits_; }
  constexpr PassSet operator|(PassSet other) const { return of(bits_ | other.bits_); }
  constexpr PassSet operator-(PassSet other) const { return of(bits_ & ~other.bits_); }
  constexpr PassSet& operator|=(PassSet other) { return *this = *this | other; }

 private:
  static constexpr PassSet of(unsigned bits) {
    PassSet out;
    out.bits_ = bits;
    return out;
  }
  unsigned bits_ = 0;
};

// The passes that every device wants.
constexpr PassSet kUsualPasses = {LowerPass::fusion, LowerPass::kept_casts, LowerPass::folded_scales};
// The passes that a CPU wants.
constexpr PassSet kCpuPasses = kUsualPasses | LowerPass::remake;

// The work that a device's kernels can take along, beside biases and relus.
struct DeviceKernels {
  // The most multiplications of a product that takes derivatives and sums along; 0: none does.
  int64_t own_products = 0;
  // Its convolutions in exact f32 whose filters see several pixels take no relu.
  bool relus_apart = false;
  // The least bytes of what pooling's gradient is given from which on it takes a derivative and sums along; 0: never.
  int64_t pooled_bytes = 0;
  // Types in which first convolutions, products of patches by few channels, take 2 x 2 max pooling along, and the
  // gradients by their filters that of pooling.
  std::vector<DType> pooled_types = {};
  // Whether all its convolutions can write rows that lie apart; if not, those can whose filters see single pixels.
  bool convolutions_write_rows = true;
  // Whether it has kernels of a convolution of few channels, and of its gradient by the filters, that read the pixels
  // as they are, filled up to four channels; the node's image has its own. Null: for none.
  bool (*pairs_pixels)(const Graph& graph, const Node& node, const DeviceKernels& kernels) = nullptr;
  // Whether its kernel of a product or a convolution adds an array like the result to it; null: none does.
  bool (*adds_array)(const LoweredKernel& kernel, const Graph& graph, const DeviceKernels& kernels) = nullptr;
  // Whether it has a kernel of its own for a compound node, which then stays; null: for none.
  bool (*keeps)(const Graph& graph, const Node& node, const DeviceKernels& kernels) = nullptr;
  // Whether a fused kernel of its own makes the product, in place of a kernel before; null: none does.
  bool (*multiplies_rows)(const LoweredKernel& kernel, const RowProduct& product, const Lowered& lowered,
                          const DeviceKernels& kernels) = nullptr;
  // Whether its kernel of max pooling, of a convolution or of one's gradient by the filters can compute operand 0, the
  // image, as it reads it, as those of ops with takes_prologue do: by `code`, or by any if null. Null: none can.
  bool (*computes_image)(const LoweredKernel& kernel, const Graph& graph, const FusedKernel* code) = nullptr;
  // The operand of a kernel of its own in whose place the kernel may write a result, where nothing reads the operand
  // later; -1: in that of none. Null: no kernel does.
  int (*writes_over)(const LoweredKernel& kernel, size_t result) = nullptr;
  // Whether its kernel of a convolution's gradient by the input makes that by the filters, too; null: none does.
  bool (*makes_both_gradients)(const LoweredKernel& kernel, const Graph& graph, const DeviceKernels& kernels) = nullptr;
  // Whether its kernel of both gradients can fold the gradient by the input by `code`, too; null: none does.
  bool (*folds_gradient)(const LoweredKernel& kernel, const Graph& graph, const FusedKernel& code) = nullptr;
  // Whether its kernel of a convolution can fold the result by `code`, too; null: none does.
  bool (*folds_result)(const LoweredKernel& kernel, const Graph& graph, const FusedKernel& code,
                       const DeviceKernels& kernels) = nullptr;
  // Whether its kernel of max pooling's gradient can fold by `folds`, and finish by `finish`, what it makes, in place
  // of storing that. Null: none can.
  bool (*walks_pooling)(const LoweredKernel& pooling, const Graph& graph, const FusedKernel& folds,
                        const FusedKernel& finish) = nullptr;
  // Whether there are other ranks to exchange arrays with.
  bool exchanges = false;
  // The compute capability of a GPU (90), and its processors, whose registers together hold what a kernel keeps.
  int arch = 0, processors = 0;
  bool tf32 = false;  // products of f32 may be those of TF32
};

struct LowerOptions {
  PassSet passes = kUsualPasses;
  DeviceKernels kernels = {};
};

// The changes that one pass made to a program.
struct PassTrace {
  bool wanted = false;
  std::string changes;  // "+3 concat, -6 convolution_data_gradient"; "" where nothing changed
};

}  // namespace neon
