// Products of the steps of a cell in f32, by AMX where the processor has it, against sums in f64.
#include "backends/cpu/tile_weights.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "backends/cpu/step_weights.h"
#include "neon/core/random.h"

using namespace neon;
using namespace neon::cpu;

namespace {

struct StepCase {
  StepSizes sizes;
  CellShare share;
  int64_t samples() const { return share.last_sample + 3; }
  int64_t row() const { return sizes.gates * sizes.padded(); }
  // The place of a weight in the array.
  size_t place(int64_t k, int64_t column) const {
    return size_t(sizes.transposed ? column * sizes.inner + k : k * sizes.columns() + column);
  }
};

struct StepNumbers {
  std::vector<float> w, a, out;
};

StepNumbers drawn_step(const StepCase& c) {
  Stream stream(1, "step");
  StepNumbers n;
  n.w.resize(size_t(c.sizes.inner * c.sizes.columns())), n.a.resize(size_t(c.samples() * c.sizes.inner));
  for (std::vector<float>* numbers : {&n.w, &n.a})
    for (float& x : *numbers) x = float(stream.normal());
  n.out.resize(size_t(c.samples() * c.row()), -7.0f);
  return n;
}

// Sums that are wrong; `tolerance` is that of a product of normal size.
int64_t wrong_sums(const StepCase& c, StepNumbers& n) {
  const StepSizes& s = c.sizes;
  StepWeights<float> weights(s, false, c.share.samples(), 2);
  weights.take(n.w.data(), 2);
  weights.multiply(n.a.data(), c.share, n.out.data());
  int64_t wrong = 0;
  for (int64_t i = 0; i < c.samples(); ++i)
    for (int64_t gate = 0; gate < s.gates; ++gate)
      for (int64_t unit = c.share.first_unit; unit < c.share.first_unit + c.share.units; ++unit) {
        const float got = n.out[size_t(i * c.row() + gate * s.padded() + unit)];
        if (i < c.share.first_sample || i >= c.share.last_sample) {  // of other shares
          wrong += got != -7.0f;
          continue;
        }
        double sum = 0, size = 0;
        for (int64_t k = 0; k < s.inner; ++k) {
          const double product = double(n.a[size_t(i * s.inner + k)]) * double(n.w[c.place(k, gate * s.units + unit)]);
          sum += product, size += std::fabs(product);
        }
        if (std::isfinite(sum)) wrong += !(std::fabs(double(got) - sum) <= double(s.inner + 2) * 0x1p-24 * size);
        else wrong += std::isnan(sum) ? !std::isnan(got) : double(got) != sum;
      }
  return wrong;
}

}  // namespace

TEST_CASE("products of a cell's steps in f32 are the sums of the products") {
  for (const bool transposed : {false, true})
    for (const int64_t gates : {1, 4})
      for (const int64_t inner : {32, 67, 128})
        for (const int64_t units : {32, 37, 52, 96}) {
          INFO(gates << " gates of " << units << " units, " << inner << " numbers"
                     << (transposed ? ", transposed" : ""));
          const StepSizes sizes{inner, gates, units, transposed};
          for (const CellShare& share : {CellShare{0, 16, 0, units},
                                         {5, 38, 0, units},
                                         {0, 150, 0, units, 1},
                                         {2, 40, 0, kPanel},
                                         {2, 40, kPanel, units - kPanel}}) {
            if (share.units == 0) continue;
            const StepCase c{sizes, share};
            StepNumbers numbers = drawn_step(c);
            CHECK(wrong_sums(c, numbers) == 0);
          }
        }
}

TEST_CASE("products of a cell's steps with infinities, NaN and the largest numbers are those of the arithmetic") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLargest = std::numeric_limits<float>::max();
  for (const bool transposed : {false, true})
    for (const float special : {kInfinity, -kInfinity, kLargest, std::numeric_limits<float>::quiet_NaN()})
      for (const bool in_weights : {false, true}) {
        INFO(special << (in_weights ? " in the weights" : " in the states"));
        const StepCase c{{64, 4, 48, transposed}, {0, 40, 0, 48}};
        StepNumbers numbers = drawn_step(c);
        for (float& x : numbers.w) x = x < 0 ? -0.5f : 0.5f;
        for (float& x : numbers.a) x = x < 0 ? -0.5f : 0.5f;
        (in_weights ? numbers.w : numbers.a)[size_t(64 * 7 + 9)] = special;
        CHECK(wrong_sums(c, numbers) == 0);
      }
}
