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

Expr as_windowed_sequence(LayerContext& context, Expr y, Expr x, const Windows& windows) {
  const Shape& shape = y.shape();
  const Expr out = reshape(y, {shape[0], shape[2], shape[3]});
  context.mark_sequence(out);
  const Value given = context.lengths(x);
  if (!given) return out;
  const double room = double(windows.before[0] + windows.after[0] - windows.extent(0));
  const Expr lengths = cast(context.expr(given), DType::f32);
  const Expr count = apply("floor", (lengths + room) / double(windows.strides[0])) + 1.0;
  context.set_lengths(out, cast(maximum(count, 1), DType::i32));
  return out;
}

Expr as_unwound_sequence(LayerContext& context, Expr y, Expr x, const Windows& windows) {
  const Shape& shape = y.shape();
  const Expr out = reshape(y, {shape[0], shape[2], shape[3]});
  context.mark_sequence(out);
  const Value given = context.lengths(x);
  if (!given) return out;
  const double more = double(windows.extent(0) - windows.before[0] - windows.after[0]);
  const Expr count = (cast(context.expr(given), DType::f32) - 1.0) * double(windows.strides[0]) + more;
  context.set_lengths(out, cast(maximum(count, 1), DType::i32));
  return out;
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
