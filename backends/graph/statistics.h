// Mean and variance, as ops that normalise an array have them. See statistics.cpp.
#pragma once
#include "backends/graph/expression.h"

namespace neon {

// Elements of x for each number of a statistic, from which on it pays to avoid a reading of x. Fewer stay in a cache,
// or in a GPU's registers, and are read once in any case.
constexpr int64_t kManyRows = 1024;

// The exact mean is average + rest. The variance is the population's.
struct Statistics {
  Expr average, variance, rest;
};

// The statistics of x over `axes`; `shape` is that of x with size 1 at these.
Statistics statistics(Expr x, const Shape& shape, const std::vector<int64_t>& axes);

}  // namespace neon
