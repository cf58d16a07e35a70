// Small things that a kernel does beside its op, so that what lies between needs no memory.
#pragma once
#include <memory>

#include "backends/graph/fused.h"
#include "backends/graph/op.h"

namespace neon {

struct Attachment {
  enum class Kind : uint8_t {
    prologue,    // `code` computes `value`, the op's operand 0, as it is read; the kernel's inputs are the op's others,
                 // then the code's; beside `filters` of a convolution's gradient `value` is the image
    bias,        // `value` (K) or (1,K) is added to every row of the result, of each pixel
    addend,      // `value`, an array like the result, is added to it, before or after the bias
    pooling,     // `op`, pool_max of 2 x 2 pixels, of the result: the kernel has the pooling's outputs
    relu,        // of the result
    derivative,  // `op`, a row's derivative by one operand, which reads `value`: of a product the result goes through
                 // it, of pooling's gradient the operand
    sums,     // outputs[1]: of a product aᵀ · b the sums of a over its rows; of pooling's gradient the sums of what
              // it spreads over all axes but the last
    filters,  // of pooling's gradient: the gradient by the filters that see `value`, in place of what is spread; of a
              // convolution's gradient by the input: outputs[1], that by the filters, of the image `value`
    folds,    // of a convolution, or of both its gradients: the last outputs, folds by `code` of the result, or of the
              // gradient by the input; of pooling's gradient, `value`: all outputs, in its place
    finish,   // of pooling's gradient, `value`: all outputs, made of it by `code` pixel by pixel, in its place
  };
  Kind kind;
  Value value = {};
  const Op* op = nullptr;
  std::shared_ptr<const FusedKernel> code = {};
};

}  // namespace neon
