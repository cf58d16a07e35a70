// How much an op computes: multiplications, additions and comparisons, from its shapes. An op has one of these
// functions, or one of its own, where it is registered.
#pragma once
#include "backends/graph/op.h"

namespace neon {

// One for each number of the result. Kernels of other ops take such ops along, so flops_of() leaves them out beside
// products and windows.
double flops_along(const Graph& graph, const Node& node);

// A multiplication and an addition for each of `terms` terms of each of `sums` sums.
constexpr double flops_of_products(double sums, double terms) { return 2 * sums * terms; }

// The sum over the nodes from number `first` up to `end`. Where all of them only go along, they are one pass over the
// largest of their results.
double flops_of(const Graph& graph, int first, int end);

}  // namespace neon
