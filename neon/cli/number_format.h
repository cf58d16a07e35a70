// The types of numbers that neon formats compares, and which numbers each of them cannot hold.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/size_counter.h"

namespace neon {

struct NumberFormat {
  std::string name;                // "f16 -u 8"
  std::vector<std::string> words;  // the options that train in it; empty: neon does not train in it
  bool on_cpu, on_gpu;
  // A number of size 2^e becomes 0 for e below `vanishing`, and is beyond the largest one for e above `beyond`.
  int64_t vanishing, beyond;
  bool scaled = false;      // gradients are stored times a loss scale
  bool same_range = false;  // it loses what an earlier format loses
  // The name in files: f16_u8.
  std::string key() const;
};

// The usual ones, and a fixed-point type: BITS.FRACTION, all bits with the sign, and those behind the point. A config
// error for another text.
std::vector<NumberFormat> number_formats(const std::string& fixed);

// Shares of an array that a format cannot hold.
struct LostShares {
  double overflow = 0;   // of all elements: beyond its largest number, infinite or NaN
  double underflow = 0;  // of all but zeros: so small that it takes them for 0
};
LostShares lost_shares(const NumberFormat& format, const SizeCounts& counts, double loss_scale);

}  // namespace neon
