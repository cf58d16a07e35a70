// The sizes of a batch_matmul.
#pragma once
#include "backends/cpu/kernel.h"

namespace neon::cpu {

// a (B,M,K) · b (B,K,N) -> c (B,M,N)
struct BatchSizes {
  BatchSizes(const LoweredKernel& kernel, const Context& context)
      : ta(kernel.attributes.integer("transpose_a")), tb(kernel.attributes.integer("transpose_b")) {
    const Shape &a = context.type(kernel.inputs[0]).shape, &c = context.type(kernel.outputs[0]).shape;
    batch = c[0], rows = c[1], columns = c[2], inner = a[ta ? 1 : 2];
  }
  bool ta, tb;
  int64_t batch, rows, columns, inner;
};

}  // namespace neon::cpu
