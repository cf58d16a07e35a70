// Loops over the elements of arrays of any rank, one after the other, in double.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "neon/core/shape.h"

namespace neon::test {

using Index = std::vector<int64_t>;

// Calls `visit` with every index of a shape, in row-major order.
template <typename Visit>
void each_index(const Shape& shape, Visit&& visit) {
  Index at(size_t(shape.rank()), 0);
  const std::span<const int64_t> sizes(shape.begin(), shape.end());
  for (int64_t left = shape.elements(); left > 0; --left) {
    visit(std::as_const(at));
    for (size_t axis = at.size(); axis-- > 0 && ++at[axis] == sizes[axis];) at[axis] = 0;
  }
}

// Where it lies in memory.
inline int64_t flat(const Shape& shape, const Index& at) {
  int64_t out = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) out = out * shape[axis] + at[size_t(axis)];
  return out;
}

inline bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b)); }

}  // namespace neon::test
