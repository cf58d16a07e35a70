// Text of what kernels on the tensor cores of compute capability 9.0 call (PTX ISA, "wgmma.mma_async").
#pragma once
#include <string>

#include "neon/core/dtype.h"

namespace neon::cuda {

// pair_of(x, y): two numbers of 16 bits in a word, the first in its lower half.
std::string pair_text(DType dtype);

// multiply_add(sums, a, b, add): sums = a · bᵀ, 64 rows by so many columns, 16 numbers deep, added to what was there if
// `add`. Both matrices lie in shared memory, row by row, or column by column where they are turned.
std::string multiply_add_text(DType dtype, int64_t columns, bool a_turned = false, bool b_turned = false);

// multiply_add(sums, a0, a1, a2, a3, b, add): the same in TF32, 8 numbers deep; a lies in registers.
std::string multiply_add_tf32_text(int64_t columns);

}  // namespace neon::cuda
