// Backends and comparisons of the array tests. Expected values are computed in double, in the tests.
#pragma once
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "neon/array/array.h"

namespace neon::test {

// Of each device that this program is to test: the CPU, or the GPU where it was told to.
Backend make_backend(DType dtype = DType::f32, uint64_t seed = 7);

// Numbers from -2 to 2 with few bits, so that sums of some are exact; the same for each call.
Tensor numbers(const Shape& shape, DType dtype, int salt = 0);

using Index = std::vector<int64_t>;
// Calls `visit` with every index of a shape, in row-major order.
void each_index(const Shape& shape, const std::function<void(const Index&)>& visit);
// Element of an array at an index of a shape that it broadcasts to.
double at(const Tensor& x, const Index& index);

// Every element is within `allowed` of what the formula gives, NaN where that is.
void check(const Tensor& got, const Shape& shape, const std::function<double(const Index&)>& expected,
           double allowed = 0);

}  // namespace neon::test
