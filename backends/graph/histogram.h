// Where op "histogram" counts a number, shared by its kernels; see ops_histogram.cpp.
#pragma once
#include <cstdint>
#include <vector>

namespace neon {

// By the exponent k of |x| = 2^k (1 + mantissa / 2^23): from that mantissa on, the logarithm is rounded to k + 1.
struct HistogramEntry {
  uint32_t mantissa = 0;
  uint32_t bins[2] = {0, 0};  // below that mantissa, and from it on
};

// Exponents as a float's bits give them, subnormals after multiplication by 2^kHistogramLift: entry
// (bits >> 23) + (lifted ? 0 : kHistogramLift). The last is that of infinity and NaN.
constexpr int kHistogramLift = 64;

// Bin `bins` is for what is counted nowhere.
std::vector<HistogramEntry> histogram_entries(int64_t bins, int64_t offset);

// log2 |x| rounded to f32, then to the nearest whole number, even ones at a tie.
double size_exponent(float x);
// The bin of a number of that exponent.
int64_t histogram_bin(double exponent, int64_t bins, int64_t offset);

}  // namespace neon
