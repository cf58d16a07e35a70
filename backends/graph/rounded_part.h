// Stochastic rounding of a part of an array, of which ranks have other parts.
#pragma once
#include "backends/graph/expression.h"

namespace neon {

// A part lies from `first` on among `all` rows, columns or the like.
struct PartOf {
  int axis = 0;
  int64_t first = 0, all = 0;
};

// round_stochastic() with the draws that the part's elements have in the whole array.
Expr round_part_stochastic(Expr x, DType dtype, int bits, uint64_t seed, const std::string& stream, PartOf part);

}  // namespace neon
