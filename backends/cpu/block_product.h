// Products of blocks that one thread multiplies, in either type (backends/elementwise/level.h).
#pragma once
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

using elementwise::BlockProduct;

inline void multiply_blocks(const BlockProduct& p, const float* a, const float* b, float* c) {
  elementwise::active_level().products->multiply_f32(p, a, b, c);
}

inline void multiply_blocks(const BlockProduct& p, const double* a, const double* b, double* c) {
  elementwise::active_level().products->multiply_f64(p, a, b, c);
}

}  // namespace neon::cpu
