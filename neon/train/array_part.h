// Parts of arrays along one axis: the rows or columns that one of several ranks has.
#pragma once
#include "neon/core/tensor.h"

namespace neon {

// Rows (axis 0) or columns (axis 1) first .. first + count - 1. Rows share storage with the array.
Tensor part_of(const Tensor& whole, int axis, int64_t first, int64_t count);
// Puts the part in its place.
void put_part(Tensor& whole, int axis, int64_t first, const Tensor& part);

}  // namespace neon
