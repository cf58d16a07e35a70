// histogram(x) -> counts (bins) i32; histogram(x, when) -> zeros where the number `when` is 0
//
// How many elements of x have which size, on a logarithmic scale, as neon's backends had it. The size of an element is
// e = rint(log2 |x|), x and the logarithm rounded to f32. Bin 0 counts e <= offset, zeros among them; bin i counts e =
// offset + i; the last bin also counts e = offset + bins. Larger numbers, infinity and NaN are counted nowhere (what
// numpy.histogram does with the edges -inf, offset + 1, ..., offset + bins; neon's GPU had put them into the last bin,
// NaN into the first).
#include <cmath>

#include "backends/graph/expression.h"
#include "backends/graph/histogram.h"
#include "backends/graph/ops.h"

namespace neon {

double size_exponent(float x) { return std::rint(double(float(std::log2(std::fabs(double(x)))))); }

int64_t histogram_bin(double exponent, int64_t bins, int64_t offset) {
  if (!(exponent <= double(offset + bins))) return bins;
  if (exponent <= double(offset)) return 0;
  return std::min(int64_t(exponent) - offset, bins - 1);
}

namespace {

constexpr int64_t kMostBins = 1024, kFarthestOffset = 1000;
constexpr int kInfiniteExponent = 128;

float from_parts(int exponent, uint32_t mantissa) { return std::ldexp(float(0x800000 + mantissa), exponent - 23); }

// The least mantissa whose number is rounded to `exponent` + 1; the one of sqrt(2) is near.
uint32_t turning_mantissa(int exponent) {
  uint32_t low = 0, high = 0x7fffff;  // rounded down, rounded up
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (size_exponent(from_parts(exponent, middle)) > exponent ? high : low) = middle;
  }
  return high;
}

std::vector<TensorType> infer_histogram(const InferContext& c) {
  const int64_t bins = c.attributes.integer("bins"), offset = c.attributes.integer("offset");
  if (bins < 1 || bins > kMostBins) fail(ErrorKind::config, "a histogram has 1 to ", kMostBins, " bins, not ", bins);
  if (offset < -kFarthestOffset || offset > kFarthestOffset)
    fail(ErrorKind::config, "the offset of a histogram is an exponent of 2 from -", kFarthestOffset, " to ",
         kFarthestOffset, ", not ", offset);
  if (c.inputs.size() > 1 && c.inputs[1].shape.elements() != 1)
    fail(ErrorKind::config, "whether a histogram counts is one number, not ", c.inputs[1]);
  return {{DType::i32, {bins}}};
}

const OpRegistration histogram_op({ops::histogram, infer_histogram});

}  // namespace

std::vector<HistogramEntry> histogram_entries(int64_t bins, int64_t offset) {
  std::vector<HistogramEntry> out;
  for (int exponent = -127 - kHistogramLift; exponent < kInfiniteExponent; ++exponent) {
    const bool met = exponent >= -149;  // below it is 0 alone
    out.push_back(
        {met ? turning_mantissa(exponent) : 0x800000u,
         {uint32_t(histogram_bin(exponent, bins, offset)), uint32_t(histogram_bin(exponent + 1, bins, offset))}});
  }
  out.push_back({0, {uint32_t(bins), uint32_t(bins)}});
  return out;
}

Value histogram(Graph& graph, Value x, int64_t bins, int64_t offset, Value when) {
  const Attributes attributes = {{"bins", bins}, {"offset", offset}};
  return graph.add("histogram", when ? std::vector{x, when} : std::vector{x}, attributes);
}

}  // namespace neon
