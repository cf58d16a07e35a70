// RandAugment against plain loops over one image after the other; see augment_test.cpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/transforms/augmented.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr double kWhite = 255 * kScale + kBlack;
constexpr int kPosterize = 9, kSolarize = 10, kStretch = 11;

// The first six of the twelve changes move pixels; side is 1 or -1.
Image moved(const Picture& p, const Image& image, int which, double side, double strength) {
  std::array<double, 6> by = {1, 0, 0, 1, 0, 0};
  const double size = side * strength, angle = size * M_PI / 6;
  if (which == 1) by[2] = 0.3 * size;
  if (which == 2) by[1] = 0.3 * size;
  if (which == 3) by[5] = 150.0 / 331 * size * double(p.width);
  if (which == 4) by[4] = 150.0 / 331 * size * double(p.height);
  if (which == 5) by = {std::cos(angle), std::sin(angle), -std::sin(angle), std::cos(angle), 0, 0};
  return warped(p, image, by);
}

// Pixel k as the other operations make it.
double recoloured(const Picture& p, const Image& image, size_t k, int which, double side, double strength) {
  const auto channels = size_t(p.channels);
  const auto grey = [&](size_t pixel) {
    const double* x = &image[pixel * channels];
    return channels == 3 ? 0.299 * x[0] + 0.587 * x[1] + 0.114 * x[2] : x[0];
  };
  const double x = image[k], factor = 1 + 0.9 * side * strength;
  const size_t pixels = image.size() / channels;
  if (which == 6) return kBlack + (x - kBlack) * factor;
  if (which == 7) return grey(k / channels) + (x - grey(k / channels)) * factor;
  if (which == 8) {
    double mean = 0;
    for (size_t i = 0; i < pixels; ++i) mean += grey(i) / double(pixels);
    return mean + (x - mean) * factor;
  }
  if (which == kPosterize) {
    const double step = std::exp2(std::round(4 * strength));
    return std::floor(std::round((x - kBlack) / kScale) / step) * step * kScale + kBlack;
  }
  if (which == kSolarize) return x < kWhite - 255 * kScale * strength ? x : kWhite + kBlack - x;
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (size_t i = k % channels; i < image.size(); i += channels)
    least = std::min(least, image[i]), most = std::max(most, image[i]);
  return most == least ? x : kBlack + (x - least) / (most - least) * (kWhite - kBlack);
}

Image changed(const Picture& p, const Image& image, int which, double side, double strength) {
  const Image places = moved(p, image, which, side, strength);
  if (which < 6) return places;
  Image out;
  for (size_t k = 0; k < image.size(); ++k)
    out.push_back(std::clamp(recoloured(p, places, k, which, side, strength), kBlack, kWhite));
  return out;
}

}  // namespace

TEST_CASE("RandAugment changes each image by one way of twelve, or by several") {
  std::vector<int32_t> which;
  for (int32_t i = 0; i < 60; ++i) which.push_back(2 * i + 1);
  std::set<int> met;
  for (const int64_t channels : {3, 1})
    for (const double magnitude : {9.0, 30.0})
      for (const int count : {1, 2}) {
        const Picture p{6, 7, channels};
        std::map<int64_t, Image> results;
        std::set<int64_t> open;  // images of which rounding may decide
        for (const int64_t n : which) {
          Image image = seen(p, n);
          for (int k = 0; k < count; ++k) {
            const int way = int(drawn(n, 2 * k) * 12.0f);
            if (k > 0 && (way == kPosterize || way == kSolarize)) open.insert(n);
            image = changed(p, image, way, drawn(n, 2 * k + 1) < 0.5f ? 1 : -1, magnitude / 30);
            met.insert(way);
          }
          results[n] = image;
        }
        for (const Arithmetic& arithmetic : arithmetics()) {
          INFO(channels << " channels, magnitude " << magnitude << ", " << count << " changes, " << arithmetic.name);
          const auto made = make(text("[RandAugment: {count: ", count, ", magnitude: ", magnitude, "}]"), p, arithmetic,
                                 true, {}, 1, which);
          const Tensor y = made->y();
          for (size_t i = 0; i < which.size(); ++i) {
            if (open.count(which[i])) continue;
            const Image& expected = results.at(which[i]);
            for (size_t k = 0; k < expected.size(); ++k)
              REQUIRE(y.at(int64_t(i * expected.size() + k)) == Approx(expected[k]).margin(4e-4));
          }
        }
      }
  CHECK(met.size() == 12);
}

TEST_CASE("RandAugment of magnitude 0 leaves an image as it is, but for its stretched contrast") {
  const Picture p{5, 4};
  check("[RandAugment: {count: 1, magnitude: 0}]", p, {5, 4}, true, 64,
        [&](int64_t, int64_t n, int64_t y, int64_t x, int64_t c) {
          const int way = int(drawn(n, 0) * 12.0f);
          return changed(p, seen(p, n), way == kStretch ? kStretch : 0, 1, 0)[size_t((y * 4 + x) * 3 + c)];
        });
}
