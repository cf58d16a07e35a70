// Sums of many numbers in f32 against sums in f64: an order that adds one after the other would drift.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/expression.h"
#include "neon/core/random.h"
#include "tests/backends/lower_check.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kSide = 512, kChannels = 19;  // channels: a vector of every level, and some beside it
constexpr double kAllowed = 1e-6;               // of sums one after the other it is 1e-5

// (1,512,512,19), above 0.
Tensor image() {
  Tensor out(DType::f32, {1, kSide, kSide, kChannels});
  Stream stream(3, "image");
  for (float& number : out.as<float>()) number = float(stream.uniform());
  return out;
}

// By channel.
std::vector<double> exact_means(const Tensor& x) {
  std::vector<double> out(kChannels);
  for (int64_t i = 0; i < x.elements(); ++i) out[size_t(i % kChannels)] += x.at(i);
  for (double& sum : out) sum /= double(kSide * kSide);
  return out;
}

}  // namespace

TEST_CASE("means of 512 x 512 pixels do not drift") {
  const Tensor x = image();
  const std::vector<double> expected = exact_means(x);
  Check c;
  const Expr in = c.input("x", x);
  const std::vector<int64_t> window = {kSide, kSide, 1};
  const Attributes pooling = {
      {"window", window}, {"strides", window}, {"padding", std::vector<int64_t>(6, 0)}, {"count_padding", int64_t(0)}};
  c.graph.output("pooled", c.graph.add("pool_avg", {in}, pooling));
  c.graph.output("mean", mean(in, {0, 1, 2}));
  auto got = c.run({.threads = 2});
  for (const char* name : {"pooled", "mean"}) {
    INFO(name);
    double worst = 0;
    for (size_t k = 0; k < size_t(kChannels); ++k)
      worst = std::max(worst, std::fabs(got[name][k] - expected[k]) / expected[k]);
    CHECK(worst < kAllowed);
  }
}
