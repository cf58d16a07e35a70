// Fixed-point numbers, emulated in f32: whole multiples of 2^-fraction, in two's complement of `bits` bits.
#pragma once
#include <optional>
#include <string>

#include "backends/graph/graph.h"

namespace neon {

struct FixedPoint {
  int bits = 0, fraction = 0;  // bits with the sign; 0: no fixed point
  explicit operator bool() const { return bits > 0; }
  double step() const;     // 2^-fraction
  double largest() const;  // (2^(bits - 1) - 1) * step; the least number is -largest - step
};

// f32 holds all numbers of so many bits.
constexpr int kMostFixedBits = 24;

// Reads BITS.FRACTION, as 16.12: nothing for anything else, for fewer than 2 bits and for more than `most`.
std::optional<FixedPoint> read_fixed_point(const std::string& written, int most);
// "expected BITS.FRACTION, ...".
std::string expected_fixed_point(int most);

// The same computation where the result of each op is rounded to the nearest number of the format, ties to even, and
// saturates. Inputs and variables are rounded as they are read. These stay exact: f64, whole numbers made of integers
// and comparisons, draws, single numbers such as rates, a sum whose only use is a multiple of it (a mean), and what a
// compound op keeps for its gradient. So do costs, metrics and all else that neither an assignment nor the output `y`
// depends on.
Graph with_fixed_point(const Graph& graph, FixedPoint format);

}  // namespace neon
