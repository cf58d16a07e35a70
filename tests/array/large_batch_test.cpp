// Convolutions of batches that a library takes in pieces, on a GPU: arrays of more than 2^31 elements in 16 bits, and
// of more bytes than it may copy in f32. All images are zeros but some from the first to the last, so that loops in
// double say what becomes of them. They take up to 20 GiB.
#include "support.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kSide = 16, kChannels = 64, kMaps = 8, kWindow = 3, kPadding = 1, kImagesOfNumbers = 12;
const Shape kImage = {1, kSide, kSide, kChannels}, kResult = {1, kSide, kSide, kMaps},
            kFilters = {kMaps, kWindow, kWindow, kChannels};

// Of few bits, so that sums are exact in 16 bits and in any order.
Tensor ones_and_zeros(const Shape& shape, DType dtype, int salt) {
  Tensor out = numbers(shape, dtype, salt);
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, out.at(i) > 1 ? 1 : out.at(i) < -1 ? -1 : 0);
  return out;
}

int64_t image_of_mark(int64_t mark, int64_t batch) { return mark * (batch - 1) / (kImagesOfNumbers - 1); }

// The marks in a batch of zeros.
Array batch_of(const Backend& be, const std::vector<Tensor>& marks, int64_t batch) {
  Array out = be.zeros(marks[0].shape().with(0, batch), marks[0].dtype());
  for (int64_t m = 0; m < kImagesOfNumbers; ++m) out.slice(0, image_of_mark(m, batch), 1).set(marks[size_t(m)]);
  return out;
}

// Each tap: y[y_index] has a product of x[x_index] and w[w_index] in it.
template <typename Visit>
void each_tap(Visit visit) {
  for (int64_t p = 0; p < kSide; ++p)
    for (int64_t q = 0; q < kSide; ++q)
      for (int64_t r = 0; r < kWindow; ++r)
        for (int64_t s = 0; s < kWindow; ++s) {
          const int64_t h = p + r - kPadding, v = q + s - kPadding;
          if (h < 0 || v < 0 || h >= kSide || v >= kSide) continue;
          for (int64_t k = 0; k < kMaps; ++k)
            for (int64_t c = 0; c < kChannels; ++c)
              visit((p * kSide + q) * kMaps + k, (h * kSide + v) * kChannels + c,
                    ((k * kWindow + r) * kWindow + s) * kChannels + c);
        }
}

std::vector<double> values(const Tensor& x) {
  std::vector<double> out;
  for (int64_t i = 0; i < x.elements(); ++i) out.push_back(x.at(i));
  return out;
}

void check_all(const Tensor& got, const std::vector<double>& expected) {
  REQUIRE(size_t(got.elements()) == expected.size());
  size_t right = 0;  // nearly: Winograd's sums of whole numbers are not whole
  for (size_t i = 0; i < expected.size(); ++i) right += std::fabs(got.at(int64_t(i)) - expected[i]) < 0.1;
  CHECK(right == expected.size());
}

// Marked images are as expected, all others are zero.
void check_batch(Array got, const std::vector<std::vector<double>>& expected) {
  for (int64_t m = 0; m < kImagesOfNumbers; ++m) {
    INFO("mark " << m);
    Array image = got.slice(0, image_of_mark(m, got.shape()[0]), 1);
    check_all(image.get(), expected[size_t(m)]);
    image.assign(0);
  }
  CHECK(Array(sum(got != 0)).item() == 0);  // NaN is not 0
}

// What an expression is, in an array that was full of NaN.
Array written(const Backend& be, const Lazy& value) {
  Array out = be.full(value.shape(), std::nan(""), value.dtype());
  return out.assign(value);
}

void check_convolution(DType dtype, int64_t batch) {
  const Backend be = make_backend(dtype);
  const Tensor w = ones_and_zeros(kFilters, dtype, 1);
  std::vector<Tensor> x, g;
  std::vector<std::vector<double>> y, dx;
  std::vector<double> dw(size_t(kFilters.elements()));
  const std::vector<double> ws = values(w);
  for (int m = 0; m < kImagesOfNumbers; ++m) {
    x.push_back(ones_and_zeros(kImage, dtype, 100 + m)), g.push_back(ones_and_zeros(kResult, dtype, 200 + m));
    const std::vector<double> xs = values(x.back()), gs = values(g.back());
    y.emplace_back(gs.size()), dx.emplace_back(xs.size());
    each_tap([&](int64_t of_y, int64_t of_x, int64_t of_w) {
      y.back()[size_t(of_y)] += xs[size_t(of_x)] * ws[size_t(of_w)];
      dx.back()[size_t(of_x)] += gs[size_t(of_y)] * ws[size_t(of_w)];
      dw[size_t(of_w)] += gs[size_t(of_y)] * xs[size_t(of_x)];
    });
  }
  const Array images = batch_of(be, x, batch), filters = be.array(w);
  const Lazy results = convolution(images, filters, {.padding = {kPadding}});
  check_batch(written(be, results), y);
  const Autodiff derivatives(results, batch_of(be, g, batch));
  check_batch(written(be, derivatives.gradient(images)), dx);
  check_all(written(be, derivatives.gradient(filters)).get(), dw);
}

}  // namespace

TEST_CASE("convolutions of arrays of more than 2^31 elements, and their gradients") {
  const int64_t batch = (int64_t(1) << 32) / kImage.elements() + 21;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    INFO(std::string(name_of(dtype)));
    check_convolution(dtype, batch);
  }
}

TEST_CASE("convolutions of 9 GiB in f32, and their gradients") {
  check_convolution(DType::f32, (int64_t(9) << 30) / ((kImage.elements() + kResult.elements()) * 4) + 1);
}
