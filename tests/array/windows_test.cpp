// Convolutions and pooling in expressions, against loops in double.
#include <limits>

#include "support.h"

using namespace neon;
using namespace neon::test;

namespace {

using Sizes = std::vector<int64_t>;

struct Filters {
  Shape x, w;
  Sizes strides, padding, dilation;
  int64_t groups;
  Shape y;
};

// Of images; each number by its formula.
double convolved(const Filters& f, const Tensor& x, const Tensor& w, const Index& i) {
  const int64_t maps = f.w[0] / f.groups, channels = f.w[3];
  double sum = 0;
  for (int64_t r = 0; r < f.w[1]; ++r)
    for (int64_t s = 0; s < f.w[2]; ++s) {
      const int64_t h = i[1] * f.strides[0] - f.padding[0] + r * f.dilation[0],
                    v = i[2] * f.strides[1] - f.padding[1] + s * f.dilation[1];
      if (h < 0 || v < 0 || h >= f.x[1] || v >= f.x[2]) continue;
      for (int64_t c = 0; c < channels; ++c)
        sum += at(x, {i[0], h, v, i[3] / maps * channels + c}) * at(w, {i[3], r, s, c});
    }
  return sum;
}

// What becomes of (N,H,W,C) by windows (height, width, channels): the largest, or the mean of those that are there.
double pooled(const Tensor& x, const Sizes& window, const Sizes& strides, const Sizes& padding, bool largest,
              const Index& i) {
  double best = -std::numeric_limits<double>::infinity(), sum = 0;
  int64_t count = 0;
  each_index(Shape(window), [&](const Index& k) {
    Index place = {i[0]};
    for (size_t axis = 0; axis < 3; ++axis) {
      place.push_back(i[axis + 1] * strides[axis] - padding[axis] + k[axis]);
      if (place.back() < 0 || place.back() >= x.shape()[int(axis) + 1]) return;
    }
    best = std::fmax(best, at(x, place)), sum += at(x, place), ++count;
  });
  return largest ? best : sum / double(count);
}

}  // namespace

TEST_CASE("convolutions of arrays, and their gradients, by the formula") {
  const Filters all[] = {
      {{2, 6, 5, 3}, {4, 3, 2, 3}, {1, 1}, {0, 0}, {1, 1}, 1, {2, 4, 4, 4}},
      {{2, 7, 6, 4}, {6, 3, 3, 2}, {2, 1}, {1, 2}, {1, 2}, 2, {2, 4, 6, 6}},
      {{1, 5, 5, 16}, {32, 1, 1, 16}, {1, 1}, {0, 0}, {1, 1}, 1, {1, 5, 5, 32}},
  };
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const Filters& f : all) {
      INFO(std::string(name_of(dtype)) << " " << text(f.x, " by ", f.w));
      Backend be = make_backend(dtype);
      const Tensor x = numbers(f.x, dtype), w = numbers(f.w, dtype, 1), g = numbers(f.y, dtype, 2);
      const Array xs = be.array(x), ws = be.array(w), gs = be.array(g);
      const WindowSteps steps{f.strides, f.padding, f.dilation, f.groups};
      // Numbers of few bits, so that their sums are exact, and rounded once in 16 bits; those of Winograd's are near.
      const double allowed = size_of(dtype) == 2 ? 128 * unit_roundoff(dtype) : dtype == DType::f32 ? 1e-4 : 0;
      const Array y = convolution(xs, ws, steps);
      CHECK(y.dtype() == dtype);
      check(
          y.get(), f.y, [&](const Index& i) { return convolved(f, x, w, i); }, allowed);
      // By the adjoint, <g, conv(x, w)> = <dx, x> = <dw, w>.
      double whole = 0;
      each_index(f.y, [&](const Index& i) { whole += at(g, i) * convolved(f, x, w, i); });
      const Lazy cost = sum(gs * convolution(xs, ws, steps));
      const Autodiff derivatives(cost);
      const double size = 1e-6 + (size_of(dtype) == 2 ? 400 * unit_roundoff(dtype) : 1e-3);
      CHECK(Array(sum(derivatives.gradient(xs) * xs)).item() == Approx(whole).margin(size * std::fabs(whole) + size));
      CHECK(Array(sum(derivatives.gradient(ws) * ws)).item() == Approx(whole).margin(size * std::fabs(whole) + size));
      if (f.strides == Sizes{1, 1}) CHECK(deconvolution(gs, ws, steps).shape() == f.x);
      if (f.strides == Sizes{1, 1}) {
        const Tensor back = Array(deconvolution(gs, ws, steps)).get(), dx = Array(derivatives.gradient(xs)).get();
        check(
            back, f.x, [&](const Index& i) { return at(dx, i); }, 2 * allowed);
      }
    }
}

TEST_CASE("pooling of arrays by the formula, over channels too") {
  struct Pools {
    Sizes window, strides, padding, all, steps, pads;  // as given, and for all three axes
  };
  const Pools all[] = {{{2, 2}, {}, {}, {2, 2, 1}, {2, 2, 1}, {0, 0, 0}},
                       {{3}, {2}, {1}, {3, 3, 1}, {2, 2, 1}, {1, 1, 0}},
                       {{2, 3, 2}, {1, 2, 3}, {0, 1, 0}, {2, 3, 2}, {1, 2, 3}, {0, 1, 0}}};
  for (DType dtype : {DType::f32, DType::f16, DType::f64})
    for (const Pools& p : all) {
      INFO(std::string(name_of(dtype)) << " " << text(Shape(p.window)));
      Backend be = make_backend(dtype);
      const Tensor x = numbers({2, 8, 9, 5}, dtype);
      const Array xs = be.array(x);
      const WindowSteps steps{p.strides, p.padding};
      Sizes shape = {2};
      for (size_t axis = 0; axis < 3; ++axis)
        shape.push_back((x.shape()[int(axis) + 1] + 2 * p.pads[axis] - p.all[axis]) / p.steps[axis] + 1);
      for (const bool largest : {true, false}) {
        const Array y = largest ? max_pool(xs, p.window, steps) : mean_pool(xs, p.window, steps);
        check(
            y.get(), Shape(shape), [&](const Index& i) { return pooled(x, p.all, p.steps, p.pads, largest, i); },
            largest ? 0 : 4 * unit_roundoff(dtype));
      }
      // Every window's gradient goes to one place.
      CHECK(Array(sum(Autodiff(sum(max_pool(xs, p.window, steps))).gradient(xs))).item() ==
            Approx(double(Shape(shape).elements())));
    }
}

TEST_CASE("volumes, integers, and what convolutions and pooling refuse") {
  Backend be = make_backend();
  const Array volumes = be.ones({1, 4, 5, 6, 2});
  check(Array(convolution(volumes, be.ones({3, 2, 2, 2, 2}))).get(), {1, 3, 4, 5, 3}, [](const Index&) { return 16; });
  check(Array(mean_pool(volumes, {2, 2, 2})).get(), {1, 2, 2, 3, 2}, [](const Index&) { return 1; });
  const Array bytes = be.full({1, 3, 3, 1}, 200, DType::u8);
  check(Array(convolution(bytes, be.full({1, 2, 2, 1}, 0.5))).get(), {1, 2, 2, 1}, [](const Index&) { return 400; });
  check(Array(max_pool(bytes, {3, 3}) + 1.0).get(), {1, 1, 1, 1}, [](const Index&) { return 201; });
  CHECK_THROWS_WITH(convolution(be.ones({3, 3}), be.ones({1, 2, 2, 1})),
                    "convolution takes images (N,H,W,C) or volumes (N,D,H,W,C), got (3, 3)");
  CHECK_THROWS_WITH(convolution(be.ones({1, 3, 3, 2}), be.ones({1, 2, 2, 3})),
                    Catch::Contains("takes filters of 2 channels"));
  CHECK_THROWS_WITH(convolution(be.ones({1, 3, 3, 1}), be.ones({1, 2, 2, 1}), {.strides = {1, 2, 3}}),
                    "strides (1, 2, 3): expected one number, or one for each of 2 axes");
  CHECK_THROWS_WITH(max_pool(be.ones({1, 3, 3, 1}), {}), Catch::Contains("max_pool: expected the window's size"));
  CHECK_THROWS_WITH(max_pool(be.ones({1, 3, 3, 1}), {2, 2}, {.dilation = {2}}),
                    Catch::Contains("a window has neither dilation nor groups"));
  CHECK_THROWS_WITH(deconvolution(be.ones({1, 1, 1, 1}), be.ones({1, 2, 2, 1}), {.padding = {1}}),
                    Catch::Contains("leaves nothing along axis 1"));
}
