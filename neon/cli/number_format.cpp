#include "neon/cli/number_format.h"

#include <cmath>

#include "models/step_graph.h"
#include "neon/core/error.h"

namespace neon {

namespace {

constexpr int kMostBits = 64;

// Types that f32 cannot hold are not trained in.
NumberFormat fixed_point(const std::string& written) {
  const auto format = read_fixed_point(written, kMostBits);
  if (!format) fail(ErrorKind::config, "option --fixed: ", in_quotes(written), ": ", expected_fixed_point(kMostBits));
  NumberFormat out{text("fixed ", format->bits, ".", format->fraction),
                   {},
                   true,
                   true,
                   -format->fraction - 1,
                   format->bits - 1 - format->fraction};
  if (format->bits <= kMostFixedBits) out.words = {"-d", "f32", "--fixed_point=" + written};
  return out;
}

}  // namespace

std::string NumberFormat::key() const {
  std::string out;
  for (const char c : name) {
    if (c == ' ' && !out.ends_with('_')) out += '_';
    else if (c != ' ' && c != '-') out += c;
  }
  const size_t rounding = out.find("_u_");
  return rounding == out.npos ? out : out.erase(rounding + 2, 1);
}

std::vector<NumberFormat> number_formats(const std::string& fixed) {
  // Half of the least number of a type becomes 0: of f32 2^-150, of bf16 2^-134, of f16 2^-25.
  std::vector<NumberFormat> out = {{"f32", {"-d", "f32"}, true, true, -150, 128},
                                   {"f64", {"-d", "f64"}, true, false, -1075, 1024},
                                   {"tf32", {"-d", "f32", "--tf32"}, false, true, -150, 128, false, true},
                                   {"bf16", {"-d", "bf16"}, true, true, -134, 128},
                                   {"f16", {"-d", "f16"}, true, true, -25, 16, true}};
  for (const char* bits : {"10", "8", "6"})
    out.push_back({text("f16 -u ", bits), {"-d", "f16", "-u", bits}, true, true, -25, 16, true, true});
  out.push_back(fixed_point(fixed));
  return out;
}

LostShares lost_shares(const NumberFormat& format, const SizeCounts& counts, double loss_scale) {
  const int64_t shift = format.scaled && counts.gradient ? std::ilogb(loss_scale) : 0;
  double counted = counts.bins[0], large = 0, small = 0;
  for (int64_t i = 1; i < kSizes; ++i) {
    const double n = counts.bins[size_t(i)];
    const int64_t exponent = kSizeOfZero + i + shift;
    counted += n;
    if (exponent > format.beyond) large += n;
    if (exponent < format.vanishing) small += n;
  }
  const double infinite = counts.elements - counted, numbers = counts.elements - counts.bins[0];
  LostShares out;
  if (counts.elements > 0) out.overflow = (large + infinite) / counts.elements;
  if (numbers > 0) out.underflow = small / numbers;
  return out;
}

}  // namespace neon
