// A batch of pictures that augmentations have changed, for their tests.
#pragma once
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/golden.h"
#include "transforms/augmentation.h"

namespace neon_test {

constexpr uint64_t kSeed = 6, kStep = 3, kEpoch = 2;
constexpr double kScale = 1 / 256.0, kBlack = -0.25;

struct Picture {
  int64_t height, width, channels = 3;
  double byte(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return double((n * 53 + y * 29 + x * 11 + c * 70 + y * x) % 256);
  }
  // As the net sees it.
  double at(int64_t n, int64_t y, int64_t x, int64_t c) const { return byte(n, y, x, c) * kScale + kBlack; }
};

// The pictures of the batch.
const std::vector<int32_t> kIndices = {7, 0, 3, 3, 8};

// Number `k` of sample n, as f32.
float drawn(int64_t n, int64_t k, uint64_t epoch = kEpoch);

struct Augmented {
  std::unique_ptr<neon::Program> program;
  neon::Variables variables;
  std::vector<int32_t> which;
  neon::Tensor data{}, indices{}, samples{}, targets{};
  neon::Tensor y() const { return program->output("y"); }
  void run(uint64_t step, uint64_t epoch);
};

// Output "y" has the pictures; where they are mixed, "t" what becomes of the unit vectors as targets, (N,N).
std::unique_ptr<Augmented> make(const std::string& list, const Picture& picture, const Arithmetic& arithmetic,
                                bool training, std::vector<double> means = {}, int threads = 1,
                                std::vector<int32_t> which = kIndices);

using Image = std::vector<double>;  // (height, width, channels)

Image seen(const Picture& p, int64_t n);
inline double of(const Picture& p, const Image& image, int64_t y, int64_t x, int64_t c) {
  return image[size_t((y * p.width + x) * p.channels + c)];
}
// The pixel at (row, column) from the middle is what lies at the rows and columns that `by` makes of the two: {row by
// row, row by column, column by row, column by column, rows more, columns more}.
Image warped(const Picture& p, const Image& image, const std::array<double, 6>& by);

// Every element of the result is what `expected(i, image, y, x, c)` says, i the place in the batch.
template <typename F>
void check(const std::string& list, const Picture& picture, neon::ImageArea area, bool training, double roundings,
           F&& expected, const std::vector<double>& means = {}, const std::vector<int32_t>& which = kIndices) {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(list << ", " << arithmetic.name);
    const auto made = make(list, picture, arithmetic, training, means, 1, which);
    const neon::Tensor y = made->y();
    REQUIRE(y.shape() == neon::Shape{int64_t(which.size()), area.height, area.width, picture.channels});
    // Draws are in f32 whatever the arithmetic.
    const double allowed = roundings * 0x1p-24;
    for (int64_t k = 0; k < y.elements(); ++k) {
      const int64_t c = k % picture.channels, column = k / picture.channels % area.width;
      const int64_t row = k / (picture.channels * area.width) % area.height;
      const int64_t i = k / (picture.channels * area.width * area.height);
      const double wanted = expected(i, int64_t(which[size_t(i)]), row, column, c);
      if (!(std::abs(y.at(k) - wanted) <= allowed)) {
        FAIL_CHECK("sample " << i << " row " << row << " column " << column << " channel " << c << " is " << y.at(k)
                             << ", expected " << wanted);
        return;
      }
    }
  }
}

}  // namespace neon_test
