// Products of bf16 in pairs, against sums in f64 of the rounded numbers.
#include "backends/cpu/pair_weights.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "backends/cpu/step_weights.h"
#include "neon/core/random.h"

using namespace neon;
using namespace neon::cpu;

namespace {

struct PairCase {
  StepSizes sizes;
  int64_t samples, first_sample, first_unit, units;  // of the share
};

float drawn(Stream& stream) { return float(stream.normal()); }
double rounded(float x) { return double(to_float(to_bf16(x))); }

void check_pairs(const PairCase& c) {
  const StepSizes& s = c.sizes;
  Stream stream(1, "pairs");
  std::vector<float> w(size_t(s.inner * s.columns())), a(size_t(c.samples * s.inner));
  for (float& x : w) x = drawn(stream);
  for (float& x : a) x = drawn(stream);
  PairWeights pairs(s, c.samples, 2);
  for (int64_t gate = 0; gate < s.gates; ++gate)
    for (int64_t unit = 0; unit < s.units; unit += kPanel) pairs.pack(w.data(), gate, unit);
  const int64_t row = s.gates * s.padded();
  std::vector<float> out(size_t(c.samples * row), -7.0f);
  const CellShare share{c.first_sample, c.samples, c.first_unit, c.units, 1};
  pairs.multiply(a.data() + c.first_sample * s.inner, share, out.data() + c.first_sample * row);
  int64_t wrong = 0;
  for (int64_t n = c.first_sample; n < c.samples; ++n)
    for (int64_t gate = 0; gate < s.gates; ++gate)
      for (int64_t unit = c.first_unit; unit < c.first_unit + c.units; ++unit) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < s.inner; ++k) {
          const int64_t column = gate * s.units + unit;
          const double product = rounded(a[size_t(n * s.inner + k)]) *
                                 rounded(w[size_t(s.transposed ? column * s.inner + k : k * s.columns() + column)]);
          sum += product, size += std::fabs(product);
        }
        const double got = double(out[size_t(n * row + gate * s.padded() + unit)]);
        wrong += !(std::fabs(got - sum) <= double(s.inner + 1) * 0x1p-24 * size);
      }
  CHECK(wrong == 0);
  // Rows of other shares stay.
  for (int64_t i = 0; i < c.first_sample * row; ++i) wrong += out[size_t(i)] != -7.0f;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("products of bf16 in pairs are the sums of the rounded numbers") {
  if (!has_bf16()) {
    WARN("this processor, or the level that is asked for, has no products of bf16");
    return;
  }
  for (const bool transposed : {false, true})
    for (const int64_t gates : {1, 3, 4})
      for (const int64_t inner : {1, 2, 31, 64, 131})
        for (const int64_t units : {1, 16, 33, 67}) {
          INFO(gates << " gates of " << units << " units, " << inner << " numbers"
                     << (transposed ? ", transposed" : ""));
          const StepSizes sizes{inner, gates, units, transposed};
          for (const int64_t samples : {1, 4, 13, 14, 15, 29}) check_pairs({sizes, samples, 0, 0, units});
          check_pairs({sizes, 9, 4, 0, units});
          if (units > kPanel) check_pairs({sizes, 9, 4, kPanel, units - kPanel}), check_pairs({sizes, 9, 0, 0, kPanel});
        }
}
