// Augmentations that turn, cover and mix images against plain loops; see augment_test.cpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "tests/transforms/augmented.h"

using namespace neon;
using namespace neon_test;

namespace {

int64_t partner(int64_t i, int64_t count) { return std::min(i % 2 ? i - 1 : i + 1, count - 1); }

// The share that an image keeps, from four numbers that are drawn for it.
double beta(int64_t n, double alpha) {
  const double radius = std::sqrt(1 - std::pow(1 - double(drawn(n, 0)), 2 / (2 * alpha + 1)));
  const double share = (1 + radius * std::cos(2 * M_PI * drawn(n, 1))) / 2;
  const double a = share * std::pow(1 - double(drawn(n, 2)), 1 / alpha),
               b = (1 - share) * std::pow(1 - double(drawn(n, 3)), 1 / alpha);
  return a / (a + b);
}

// Row i of the targets is the share of unit vector i, and the rest that of its partner.
void check_targets(const std::string& list, const Picture& p, const std::function<double(int64_t)>& share) {
  const auto made = make(list, p, arithmetics()[0], true);
  const Tensor t = made->program->output("t");
  const auto count = int64_t(kIndices.size());
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < count; ++k) {
      const double own = i == k ? share(kIndices[size_t(i)]) : 0,
                   other = k == partner(i, count) ? 1 - share(kIndices[size_t(i)]) : 0;
      CHECK(t.at(i * count + k) == Approx(own + other).margin(2e-5));
    }
}

}  // namespace

TEST_CASE("images are turned about their middle, against the clock for angles above 0") {
  for (const Picture& p : {Picture{8, 8}, Picture{7, 10, 1}})
    check("[Rotation: 60]", p, {p.height, p.width}, true, 4000,
          [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
            const double angle = (2 * double(drawn(n, 0)) - 1) * M_PI / 3, cosine = std::cos(angle),
                         sine = std::sin(angle);
            return of(p, warped(p, seen(p, n), {cosine, sine, -sine, cosine, 0, 0}), y, x, c);
          });
  // By a right angle the top row is the right column, from above.
  Graph graph;
  Variables variables;
  const Value data = graph.input("data", DType::u8, {1, 5, 5, 1});
  ImageBatch batch(graph, data, {}, {}, DType::f64, true, 1);
  const Expr zero(graph, graph.constant(0, DType::f64)), one = zero + 1.0;
  batch.warp({zero, one, -one, zero}, {zero, zero});
  graph.output("y", batch.values());
  const auto program = compile_for_cpu(graph, variables, {});
  std::vector<uint8_t> bytes(25);
  for (size_t i = 0; i < 25; ++i) bytes[i] = uint8_t(i);
  program->bind("data", bytes.data());
  program->run(0);
  for (int64_t k = 0; k < 5; ++k) CHECK(program->output("y").at(k) == Approx(double(5 * k + 4)));
}

TEST_CASE("images are slanted both ways, and swapped with what follows") {
  const Picture p{6, 9};
  const auto slant = [&](int64_t n) {
    const double across = 2 * double(drawn(n, 0)) - 1, down = 2 * double(drawn(n, 1)) - 1;
    return warped(p, seen(p, n), {1, 0.3 * down, 0.5 * across, 1, 0, 0});
  };
  check("[Shear: {across: 0.5, down: 0.3}]", p, {6, 9}, true, 4000,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return of(p, slant(n), y, x, c); });
  check("[Shear: {across: 0.5, down: 0.3}, Flip: {probability: 1}]", p, {6, 9}, true, 4000,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return of(p, slant(n), y, 8 - x, c); });
  check("[Rotation, Shear, RandomErasing, Mixup, CutMix, RandAugment]", p, {6, 9}, false, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) { return p.at(n, y, x, c); });
}

TEST_CASE("a box of drawn area and aspect is covered in a share of the images") {
  const Picture p{9, 12};
  std::set<bool> any;
  for (const std::vector<double>& means : {std::vector<double>{}, {0.25, 0.5, 0.75}})
    check(
        "[RandomErasing: {probability: 0.6, area: [0.1, 0.5], aspect: [0.25, 4]}]", p, {9, 12}, true, 0,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          const bool covers = drawn(n, 0) < 0.6f;
          const double pixels = (0.1 + drawn(n, 1) * 0.4) * 108, aspect = 0.25 * std::pow(16, drawn(n, 2));
          const double tall = std::clamp(std::rint(std::sqrt(pixels * aspect)), 1.0, 9.0);
          const double wide = std::clamp(std::rint(std::sqrt(pixels / aspect)), 1.0, 12.0);
          const double top = std::floor(drawn(n, 3) * (10 - tall)), left = std::floor(drawn(n, 4) * (13 - wide));
          const auto row = double(y), column = double(x);
          const bool covered = covers && row >= top && row < top + tall && column >= left && column < left + wide;
          any.insert(covered);
          return !covered ? p.at(n, y, x, c) : means.empty() ? kBlack : means[size_t(c)];
        },
        means);
  CHECK(any.size() == 2);
}

TEST_CASE("an image, and its target, is mixed with its neighbour's") {
  const Picture p{4, 5};
  const auto count = int64_t(kIndices.size());
  for (const double alpha : {0.2, 1.0, 3.0}) {
    const auto share = [&](int64_t n) { return drawn(n, 4) < 0.75f ? beta(n, alpha) : 1; };
    const std::string list = text("[Mixup: {alpha: ", alpha, ", probability: 0.75}]");
    check(list, p, {4, 5}, true, 1000, [&](int64_t i, int64_t n, int64_t y, int64_t x, int64_t c) {
      return share(n) * p.at(n, y, x, c) + (1 - share(n)) * p.at(kIndices[size_t(partner(i, count))], y, x, c);
    });
    check_targets(list, p, share);
  }
}

TEST_CASE("a box of an image is its neighbour's, and the target has as much of its neighbour's") {
  const Picture p{7, 9};
  const auto count = int64_t(kIndices.size());
  const auto stretch = [](int64_t n, int64_t k, double length) {
    const double side = std::sqrt(1 - beta(n, 1)), middle = std::floor(drawn(n, k) * length);
    const double half = std::floor(std::floor(side * length) / 2);
    return std::pair(std::max(middle - half, 0.0), std::min(middle + half, length));
  };
  check("[CutMix]", p, {7, 9}, true, 0, [&](int64_t i, int64_t n, int64_t y, int64_t x, int64_t c) {
    const auto [top, bottom] = stretch(n, 4, 7);
    const auto [left, right] = stretch(n, 5, 9);
    const bool other = double(y) >= top && double(y) < bottom && double(x) >= left && double(x) < right;
    return p.at(other ? kIndices[size_t(partner(i, count))] : n, y, x, c);
  });
  check_targets("[CutMix]", p, [&](int64_t n) {
    const auto [top, bottom] = stretch(n, 4, 7);
    const auto [left, right] = stretch(n, 5, 9);
    return 1 - (bottom - top) * (right - left) / 63;
  });
}

TEST_CASE("shares of mixtures have the moments of their distribution") {
  constexpr int32_t kSamples = 6000;
  for (const double alpha : {0.2, 1.0, 4.0}) {
    Graph graph;
    Variables variables;
    std::vector<uint8_t> bytes(kSamples);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = i % 2 ? 0 : 255;
    ImageBatch batch(graph, graph.input("data", DType::u8, {kSamples, 1, 1, 1}), {}, {1 / 255.0, 0}, DType::f64, true,
                     kSeed);
    Registry<Augmentation>::get().create(yaml_of(text("Mixup: ", alpha)))->apply(batch);
    graph.output("y", batch.values());
    const auto program = compile_for_cpu(graph, variables, {});
    std::vector<int32_t> samples;
    for (int32_t i = 0; i < kSamples; ++i) samples.insert(samples.end(), {i, 0});
    program->bind("data", bytes.data());
    program->bind("samples", samples.data());
    program->run(0);
    const Tensor y = program->output("y");
    double second = 0, fourth = 0, first = 0;
    for (int64_t i = 0; i < kSamples; ++i) {
      const double off = (i % 2 ? 1 - y.at(i) : y.at(i)) - 0.5;
      first += off / kSamples, second += off * off / kSamples, fourth += off * off * off * off / kSamples;
    }
    const double variance = 1 / (4 * (2 * alpha + 1)), kurtosis = 3 / (16 * (2 * alpha + 1) * (2 * alpha + 3));
    const double five = 5 / std::sqrt(double(kSamples));
    INFO(alpha);
    CHECK(std::abs(first) < five * std::sqrt(variance));
    CHECK(std::abs(second - variance) < five * std::sqrt(kurtosis - variance * variance));
    CHECK(std::abs(fourth - kurtosis) < five / 16);  // no fourth power exceeds 1/16
  }
}
