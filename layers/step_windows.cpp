#include "layers/step_windows.h"

namespace neon {

Expr counted_steps(LayerContext& context, Expr x) {
  const Expr counts = unpadded(context, x);
  return counts.value() ? reshape(counts, {x.shape()[0], 1, x.shape()[1], 1}) : counts;
}

Expr filled_steps(LayerContext& context, Expr x, double number) {
  const Expr counts = unpadded(context, x);
  if (!counts.value()) return x;
  const Expr y = cast(apply("select", counts, cast(x, counts.dtype()), counts.constant(number)), x.dtype());
  context.keep_axes(x, y);
  return y;
}

Expr without_padding(LayerContext& context, Expr x) { return context.is_sequence(x) ? filled_steps(context, x, 0) : x; }

Expr as_image_row(LayerContext& context, Expr x, double otherwise) {
  const Shape& shape = x.shape();
  return reshape(filled_steps(context, x, otherwise), {shape[0], 1, shape[1], shape[2]});
}

Windows over_image_row(Windows windows) {
  const auto ahead = [](std::vector<int64_t>& numbers, int64_t number) { numbers.insert(numbers.begin(), number); };
  ahead(windows.size, 1), ahead(windows.strides, 1), ahead(windows.dilation, 1);
  ahead(windows.before, 0), ahead(windows.after, 0);
  return windows;
}

namespace {

// y (N,1,T',K) as a sequence (N,T',K), of as many steps as `count` makes of those of x, but at least 1.
Expr as_sequence(LayerContext& context, Expr y, Expr x, auto&& count) {
  const Shape& shape = y.shape();
  const Expr out = reshape(y, {shape[0], shape[2], shape[3]});
  context.mark_sequence(out);
  if (const Value lengths = context.lengths(x)) {
    const Expr steps = count(cast(context.expr(lengths), DType::f32));
    context.set_lengths(out, cast(maximum(steps, 1), DType::i32));
  }
  return out;
}

// The steps that a window reaches past the padding.
double reach(const Windows& windows) { return double(windows.extent(0) - windows.before[0] - windows.after[0]); }

}  // namespace

Expr as_windowed_sequence(LayerContext& context, Expr y, Expr x, const Windows& windows) {
  return as_sequence(context, y, x, [&](Expr steps) {
    return apply("floor", (steps - reach(windows)) / double(windows.strides[0])) + 1.0;
  });
}

Expr as_unwound_sequence(LayerContext& context, Expr y, Expr x, const Windows& windows) {
  return as_sequence(context, y, x,
                     [&](Expr steps) { return (steps - 1.0) * double(windows.strides[0]) + reach(windows); });
}

void check_step_windows(Expr x, const Windows& windows, const char* what) {
  const int64_t steps = x.shape()[1], extent = windows.extent(0), padding = windows.before[0] + windows.after[0];
  if (extent <= steps + padding) return;
  fail(ErrorKind::config, "a ", what, " of ", extent, " steps",
       windows.dilation[0] > 1 ? text(" (", windows.size[0], " with dilation ", windows.dilation[0], ")") : "",
       " does not fit in sequences of ", steps, " steps", padding ? text(" and padding of ", padding) : "",
       "; a smaller fshape or more padding would, or fewer poolings and strides before it");
}

}  // namespace neon
