// Walks over columns, see level.h. Sums go to `width` places, so that a place adds up few numbers.
// The texts build on one another, in this order.
// clang-format off
#include "backends/elementwise/ask_for.h"
#include "backends/elementwise/level.h"
#include "backends/elementwise/math.inc"
#include "backends/elementwise/math_special.inc"
#include "backends/elementwise/row_functions.inc"
#include "backends/elementwise/table.inc"
#include "backends/elementwise/row_functions_end.inc"
// clang-format on

namespace neon::elementwise::NEON_LEVEL {
namespace {

enum class Rectifier { none, relu, relu_clip };

// Calls body(i, k) for number i and the place k of its column.
template <typename R, typename Body>
[[gnu::always_inline]] inline void each(const ColumnWalk<R>& w, Body&& body) {
  const int64_t width = w.width, all = w.n;
  for (int64_t first = 0; first < all; first += width) {
    const int64_t n = all - first < width ? all - first : width;
    ask_for(w.x + first, n);
    if (w.g) ask_for(w.g + first, n);
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) body(first + k, k);
  }
}

template <typename R>
void square_sums(const ColumnWalk<R>& w) {
  const R *x = w.x, *shift = w.kept[0];
  R *sum = w.sums[0], *squares = w.sums[1];
  each(w, [=](int64_t i, int64_t k) {
    const R d = x[i] - shift[k];
    sum[k] += d;
    squares[k] += d * d;
  });
}

template <typename R>
void product_sums(const ColumnWalk<R>& w) {
  const R *x = w.x, *g = w.g, *shift = w.kept[0], *scale = w.kept[1];
  R *sum = w.sums[0], *products = w.sums[1];
  each(w, [=](int64_t i, int64_t k) {
    const R gradient = g[i];
    sum[k] += gradient;
    products[k] += gradient * ((x[i] - shift[k]) * scale[k]);
  });
}

template <Rectifier rectifier, bool join, typename R>
void scaled(const ColumnWalk<R>& w) {
  const R *x = w.x, *g = join ? w.g : w.x, *shift = w.kept[0], *scale = w.kept[1], *offset = w.kept[2];
  const R slope = w.slope, most = w.most;
  R* y = w.y;
  each(w, [=](int64_t i, int64_t k) {
    R a = (x[i] - shift[k]) * scale[k] + offset[k];
    if constexpr (join) a = a + g[i];
    if constexpr (rectifier == Rectifier::none) y[i] = a;
    else if constexpr (rectifier == Rectifier::relu) y[i] = neon_math::relu_value<R>(a, 0, 0);
    else y[i] = neon_math::relu_clip_value<R>(a, slope, most);
  });
}

template <Rectifier rectifier, typename R>
void gated(const ColumnWalk<R>& w) {
  const R *x = w.x, *g = w.g, *shift = w.kept[0], *scale = w.kept[1], *offset = w.kept[2];
  const R slope = w.slope, most = w.most;
  R* y = w.y;
  each(w, [=](int64_t i, int64_t k) {
    const R a = (x[i] - shift[k]) * scale[k] + offset[k], gradient = g[i];
    if constexpr (rectifier == Rectifier::relu)
      y[i] = neon_math::relu_by_a<R>(gradient, a, 0, 0, neon_math::relu_value<R>(a, 0, 0));
    else y[i] = neon_math::relu_clip_by_a<R>(gradient, a, slope, most, 0);
  });
}

template <typename R>
void gradient(const ColumnWalk<R>& w) {
  const R *x = w.x, *g = w.g, *shift = w.kept[0], *scale = w.kept[1], *mean = w.kept[2], *along = w.kept[3],
          *all = w.kept[4];
  const R factor = w.factor;
  R* y = w.y;
  each(w, [=](int64_t i, int64_t k) {
    const R near = (x[i] - shift[k]) * scale[k];
    y[i] = all[k] * (g[i] - (mean[k] + near * along[k]) * factor);
  });
}

template <typename R>
consteval Columns<R> columns() {
  using enum Rectifier;
  return {square_sums<R>,
          product_sums<R>,
          {scaled<none, false, R>, scaled<relu, false, R>, scaled<relu_clip, false, R>},
          {scaled<none, true, R>, scaled<relu, true, R>, scaled<relu_clip, true, R>},
          {gated<relu, R>, gated<relu_clip, R>},
          gradient<R>};
}

}  // namespace

constinit const Columns<float> columns_f32 = columns<float>();
constinit const Columns<double> columns_f64 = columns<double>();

}  // namespace neon::elementwise::NEON_LEVEL
