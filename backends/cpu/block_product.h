// Products of blocks that one thread multiplies: of attention's queries and keys, of a recurrent cell's step.
#pragma once
#include <algorithm>

#include "backends/elementwise/kernels.h"

namespace neon::cpu {

// A product of blocks: c[i][j] = sum over k < depth of a[i * a_row + k * a_step] * b[k * b_step + j], or that sum is
// added to c[i][j]. Each is summed in one order. `columns` is a multiple of 16.
using BlockProduct = elementwise::WinogradProduct;

inline void multiply_blocks(const BlockProduct& p, const float* a, const float* b, float* c) {
  elementwise::active_level().winograd->multiply(p, a, b, c);
}

inline void multiply_blocks(const BlockProduct& p, const double* a, const double* b, double* c) {
  for (int64_t i = 0; i < p.rows; ++i) {
    double* row = c + i * p.c_row;
    if (!p.add) std::fill_n(row, p.columns, 0.0);
    for (int64_t k = 0; k < p.depth; ++k) {
      const double factor = a[i * p.a_row + k * p.a_step];
      for (int64_t j = 0; j < p.columns; ++j) row[j] += factor * b[k * p.b_step + j];
    }
  }
}

}  // namespace neon::cpu
