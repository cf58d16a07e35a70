// Images brought to another size, against sums in double.
#include "datasets/resize.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/elementwise/kernels.h"
#include "image_support.h"
#include "neon/core/random.h"

using namespace neon;
using namespace neon_test;

namespace {

struct Size {
  int64_t height, width, side;
};
// Smaller, as large, larger; short lines; scales of few and of many neighbours.
constexpr Size kSizes[] = {{13, 7, 3},   {13, 7, 7},    {7, 13, 9},      {13, 7, 1},    {1, 1, 3},
                           {2, 2, 5},    {1, 50, 2},    {8, 4, 4},       {40, 61, 39},  {50, 33, 17},
                           {33, 60, 16}, {31, 64, 128}, {375, 500, 256}, {300, 400, 7}, {211, 97, 10}};

std::vector<uint8_t> noise_of(const Size& size, int64_t channels, bool black_and_white) {
  Stream noise(1, "noise");
  std::vector<uint8_t> out(size_t(size.height * size.width * channels));
  for (uint8_t& value : out) value = uint8_t(noise.below(256)), value = black_and_white ? value / 128 * 255 : value;
  return out;
}

std::vector<uint8_t> resized(const std::vector<uint8_t>& x, const Size& size, int64_t channels,
                             const elementwise::Level& level = elementwise::active_level()) {
  std::vector<uint8_t> out(size_t(size.side * size.side * channels));
  resize_middle(x.data(), {size.height, size.width}, channels, size.side, out, level);
  return out;
}

// An axis whose middle becomes `side` places, once it is as long as an image whose `shorter` axis has `wanted` places.
class ResizedAxis {
 public:
  ResizedAxis(int64_t length, int64_t shorter, int64_t side) : ResizedAxis(length, shorter, side, side) {}
  ResizedAxis(int64_t length, int64_t shorter, int64_t wanted, int64_t side)
      : length_(length),
        whole_(std::max(side, int64_t(std::llround(double(length * wanted) / double(shorter))))),
        begin_((whole_ - side) / 2),
        scale_(double(length) / double(whole_)),
        reach_(std::max(scale_, 1.0)) {}
  double neighbours() const { return 2 * reach_ + 1; }
  // value(k) of the neighbours of a place, weighted by a triangle.
  double mean(int64_t place, auto&& value) const {
    double sum = 0, weights = 0;
    const double centre = (double(begin_ + place) + 0.5) * scale_;
    for (auto k = std::max<int64_t>(0, int64_t(centre - reach_)); k <= std::min(int64_t(centre + reach_), length_ - 1);
         ++k) {
      const double weight = std::max(0.0, 1 - std::abs(double(k) + 0.5 - centre) / reach_);
      weights += weight;
      sum += weight * value(k);
    }
    return sum / weights;
  }

 private:
  int64_t length_, whole_, begin_;
  double scale_, reach_;
};

}  // namespace

TEST_CASE("resizing is a mean weighted by a triangle, of the middle") {
  for (const Size& size : kSizes)
    for (const int64_t channels : {1, 3})
      for (const bool black_and_white : {false, true}) {
        INFO(size.height << " x " << size.width << " to " << size.side << ", " << channels << " channels");
        const std::vector<uint8_t> x = noise_of(size, channels, black_and_white), got = resized(x, size, channels);
        const int64_t shorter = std::min(size.height, size.width);
        const ResizedAxis down(size.height, shorter, size.side), along(size.width, shorter, size.side);
        double farthest = 0;
        for (int64_t i = 0; i < int64_t(got.size()); ++i) {
          const int64_t c = i % channels, column = i / channels % size.side, row = i / channels / size.side;
          const double expected = down.mean(row, [&](int64_t v) {
            return along.mean(column, [&](int64_t u) { return x[size_t((v * size.width + u) * channels + c)]; });
          });
          farthest = std::max(farthest, std::abs(double(got[size_t(i)]) - expected));
        }
        // Beside the pixel that of a line between, 2^-7, and as much of each of four products, where there are no more;
        // weights are one off in 2^15, half of them too large.
        CHECK(farthest <= 0.5 + 5 / 128.0 + (down.neighbours() + along.neighbours()) * 255 / 65536);
      }
}

TEST_CASE("an image covers a size that is not square, or is stretched to it") {
  struct Way {
    ImageSize from, to;
    bool by_width;  // the width grows most
  };
  for (const Way& way :
       {Way{{13, 7}, {5, 9}, true}, Way{{7, 13}, {9, 4}, false}, Way{{40, 61}, {12, 30}, true},
        Way{{61, 40}, {80, 30}, false}, Way{{10, 20}, {5, 10}, false}, Way{{375, 500}, {300, 100}, false}})
    for (const bool stretched : {false, true})
      for (const int64_t channels : {1, 3}) {
        INFO(way.from.height << " x " << way.from.width << " to " << way.to.height << " x " << way.to.width << ", "
                             << channels << " channels, stretched " << stretched);
        const auto [height, width] = way.from;
        const std::vector<uint8_t> x = noise_of({height, width, 0}, channels, false);
        std::vector<uint8_t> got(size_t(way.to.height * way.to.width * channels));
        resize_middle(x.data(), way.from, channels, {way.to.height, way.to.width}, got, elementwise::active_level(),
                      stretched);
        const auto axis = [&](int64_t length, int64_t places) {
          if (stretched) return ResizedAxis(length, length, places, places);
          return way.by_width ? ResizedAxis(length, width, way.to.width, places)
                              : ResizedAxis(length, height, way.to.height, places);
        };
        const ResizedAxis down = axis(height, way.to.height), along = axis(width, way.to.width);
        double farthest = 0;
        for (int64_t i = 0; i < int64_t(got.size()); ++i) {
          const int64_t c = i % channels, column = i / channels % way.to.width, row = i / channels / way.to.width;
          const double expected = down.mean(row, [&](int64_t v) {
            return along.mean(column, [&](int64_t u) { return x[size_t((v * width + u) * channels + c)]; });
          });
          farthest = std::max(farthest, std::abs(double(got[size_t(i)]) - expected));
        }
        CHECK(farthest <= 0.5 + 5 / 128.0 + (down.neighbours() + along.neighbours()) * 255 / 65536);
      }
}

TEST_CASE("resizing gives the same bytes by the loops of every level") {
  for (const Size& size : kSizes)
    for (const int64_t channels : {1, 3}) {
      INFO(size.height << " x " << size.width << " to " << size.side << ", " << channels << " channels");
      const std::vector<uint8_t> x = noise_of(size, channels, false);
      const std::vector<uint8_t> lowest = resized(x, size, channels, elementwise::levels().front());
      for (const elementwise::Level& level : elementwise::levels()) CHECK(resized(x, size, channels, level) == lowest);
    }
}

TEST_CASE("resizing keeps the colour of an image that has one") {
  for (const int value : {0, 1, 2, 127, 254, 255})
    for (const Size& size : {Size{200, 300, 1},
                             {200, 300, 5},
                             {200, 300, 64},
                             {200, 300, 100},
                             {200, 300, 150},
                             {200, 300, 199},
                             {200, 300, 400},
                             {3000, 2000, 2}}) {
      INFO(value << " of " << size.height << " x " << size.width << " to " << size.side);
      const std::vector<uint8_t> x(size_t(size.height * size.width), uint8_t(value));
      CHECK(std::ranges::count(resized(x, size, 1), value) == size.side * size.side);
    }
}

TEST_CASE("resizing writes to its own bytes only") {
  for (const int64_t channels : {1, 3})
    for (const int64_t side : {1, 2, 3, 5, 8}) {
      const Tensor image = picture(9, 11, channels, 1);
      std::vector<uint8_t> bytes(size_t(side * side * channels) + 8, 77);
      const auto to = std::span(bytes).subspan(4, size_t(side * side * channels));
      resize_middle(image.as<uint8_t>().data(), {9, 11}, channels, side, to);
      for (size_t k = 0; k < 4; ++k) CHECK((bytes[k] == 77 && bytes[bytes.size() - 1 - k] == 77));
      // Grey has the numbers of a colour of three like channels.
      if (channels == 3) continue;
      Tensor colour(DType::u8, {9, 11, 3});
      for (int64_t i = 0; i < colour.elements(); ++i) colour.set(i, image.at(i / 3));
      std::vector<uint8_t> wide(size_t(side * side * 3));
      resize_middle(colour.as<uint8_t>().data(), {9, 11}, 3, side, wide);
      for (size_t i = 0; i < to.size(); ++i) CHECK((wide[3 * i] == to[i] && wide[3 * i + 2] == to[i]));
    }
}
