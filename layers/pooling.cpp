// Pooling: the largest, the mean or the root of the summed squares of each window. Windows at the border see fewer
// elements; a mean is over those that are there. With --caffe, a last window that is only partly filled counts, and a
// mean divides by the places of its window that lie within the input and its padding.
#include <algorithm>
#include <limits>

#include "backends/graph/ops.h"
#include "layers/step_windows.h"

namespace neon {

namespace {

struct PoolingParams {
  AxisNumbers fshape;
  std::string op = "max";
  AxisNumbers strides;
  AxisNumbers padding{0};
  static void describe(auto&& p) {
    p("fshape", &PoolingParams::fshape,
      "Size of the window: 2, [height, width], [depth, height, width], or all for the whole image. A map, {J: 2}, can "
      "also pool channels; an axis left out has size 1. Sequences (T,F) take a number of steps, or all, which gives "
      "one "
      "row of features.",
      at_least(1), Required{});
    p("op", &PoolingParams::op,
      "Value of a window: max, the largest; avg or mean, the mean of the pixels that are there, without "
      "padding (with --caffe, padding counts as zeros); l2, the root of the summed squares.",
      one_of({"max", "avg", "mean", "l2"}));
    p("strides", &PoolingParams::strides, "Step from one window to the next, in pixels. Default: the window's size.",
      at_least(1), Alias{"stride"});
    p("padding", &PoolingParams::padding, "Empty pixels at each edge of the input.", closed(0, kMostOfWindows),
      Alias{"pad"});
  }
};

struct Pooling : Parametrized<Layer, PoolingParams> {
  using Parametrized::Parametrized;

  Expr forward(LayerContext& context, Expr x) const override {
    if (context.is_sequence(x)) return over_steps(context, x);
    const Attributes attributes = attributes_of(x, context.caffe);
    if (params.op == "max") return largest(x, attributes);
    if (params.op == "l2") return norm(x, attributes);
    return context.caffe ? caffe_average(x, attributes) : average(x, attributes, false);
  }
  Sight sight() const override { return Sight::any; }

 private:
  // The largest of rectified numbers is the rectified largest: so only that is rectified, here and in the gradient. But
  // what another pooling has rectified is so already, and others may read it too.
  static Expr largest(Expr x, const Attributes& attributes) {
    const Node& maker = x.graph().producer(x);
    const bool rectified = maker.op->is(ops::relu) && !x.graph().producer(maker.inputs[0]).op->is(ops::pool_max);
    if (rectified) x = Expr(x.graph(), maker.inputs[0]);
    const Expr y(x.graph(), x.graph().add_all(ops::pool_max, {x}, attributes)[0]);
    return rectified ? apply("relu", y) : y;
  }

  // One window of the whole image is a sum, which goes along with its neighbours, and so does its gradient.
  static Expr average(Expr x, const Attributes& attributes, bool count_padding) {
    if (const std::vector<int64_t> axes = axes_of_all(x, attributes); !axes.empty())
      return cast(mean(cast(x, compute_type(x.dtype())), axes), x.dtype());
    return {x.graph(), x.graph().add("pool_avg", {x}, attributes.with("count_padding", int64_t(count_padding)))};
  }

  // The axes of x's pixels where a window has them all and no padding; otherwise none.
  static std::vector<int64_t> axes_of_all(Expr x, const Attributes& attributes) {
    const auto &window = attributes.integers("window"), &padding = attributes.integers("padding");
    std::vector<int64_t> axes;
    for (int axis = 1; axis + 1 < x.shape().rank(); ++axis) {
      if (window[size_t(axis) - 1] != x.shape()[axis]) return {};
      axes.push_back(axis);
    }
    const bool plain = window.back() == 1 && std::ranges::all_of(padding, [](int64_t n) { return n == 0; });
    return plain ? axes : std::vector<int64_t>{};
  }

  // Windows over the steps of a sequence.
  Windows step_windows(Expr x) const {
    Windows out;
    out.size = params.fshape.all ? std::vector{x.shape()[1]} : params.fshape.of_space(1, 1, "fshape");
    out.strides = params.strides.given() ? params.strides.of_space(1, 1, "strides") : out.size;
    out.before = out.after = params.padding.of_space(1, 0, "padding");
    out.dilation = {1};
    check_step_windows(x, out, "window");
    if (out.before[0] >= out.size[0])
      fail(ErrorKind::config, "pooling: padding of ", out.before[0], " must be less than the window of ", out.size[0],
           ", or windows at the ends would hold padding alone");
    return out;
  }

  // x (N,T,F) -> (N,T',F), or (N,F) with fshape: all. A window sees no padded step, and what no window sees is 0.
  Expr over_steps(LayerContext& context, Expr x) const {
    const Windows windows = step_windows(x);
    // Caffe's means count padding: of a text that of the last piece, too.
    const Expr counts = context.caffe && context.filled_lengths ? Expr() : counted_steps(context, x);
    if (context.caffe && counts.value())
      fail(ErrorKind::config, "pooling with --caffe counts padding, so it is not for sequences of different lengths");
    const double least = -std::numeric_limits<double>::infinity();
    const Expr row = as_image_row(context, x, params.op == "max" ? least : 0);
    const Attributes attributes = step_attributes(windows, x.shape()[1], context.caffe);
    Expr y;
    if (params.op == "max") y = largest(row, attributes);
    else if (counts.value() && params.fshape.all && windows.before[0] == 0) y = of_all_steps(row, counts);
    else if (params.op == "l2") y = norm(row, attributes);
    else if (counts.value()) y = average_of(row, counts, attributes);
    else y = context.caffe ? caffe_average(row, attributes) : average(row, attributes, false);
    const Expr out = as_windowed_sequence(context, y, x, windows);
    if (params.fshape.all) return reshape(out, {out.shape()[0], out.shape()[2]});
    return filled_steps(context, out, 0);
  }

  static Attributes step_attributes(const Windows& windows, int64_t steps, bool caffe) {
    const int64_t size = windows.size[0], stride = windows.strides[0], before = windows.before[0];
    const int64_t after = caffe ? filling(steps, size, stride, before) : before;
    return {{"window", std::vector<int64_t>{1, size, 1}},
            {"strides", std::vector<int64_t>{1, stride, 1}},
            {"padding", std::vector<int64_t>{0, 0, before, after, 0, 0}}};
  }

  // The mean of those elements of each window of x that count; x is 0 elsewhere.
  static Expr average_of(Expr x, Expr counts, const Attributes& attributes) {
    const Expr total = average(cast(x, counts.dtype()), attributes, true), share = average(counts, attributes, true);
    return cast(total / apply("select", share, share, share.constant(1)), x.dtype());
  }

  // The mean, or the root of the summed squares, of those steps of x (N,1,T,F) that count; x is 0 elsewhere. Sums are
  // divided by the count itself, so that padding changes no bit.
  Expr of_all_steps(Expr x, Expr counts) const {
    const Expr wide = cast(x, counts.dtype());
    const auto total = [](Expr each) {
      const Shape& shape = each.shape();
      return reshape(sum(each, {1, 2}), {shape[0], 1, 1, shape[3]});
    };
    if (params.op != "l2") return cast(total(wide) / total(counts), x.dtype());
    const Expr squares = total(square(wide));
    return cast(squares * apply("rsqrt", maximum(squares, 1e-30)), x.dtype());
  }

  // Caffe's pooling_layer.cpp: padding counts as zeros, but places beyond it, of a last window, do not count.
  Expr caffe_average(Expr x, const Attributes& attributes) const {
    const Expr y = average(x, attributes, true);
    const auto &window = attributes.integers("window"), &strides = attributes.integers("strides"),
               &padding = attributes.integers("padding");
    Expr factor;
    for (size_t i = 0; i < window.size(); ++i) {
      if (padding[2 * i + 1] == padding[2 * i]) continue;
      const int axis = int(i) + 1;
      const double end = double(x.shape()[axis] + 2 * padding[2 * i]);  // of the padding, from a first window's begin
      Shape along = Shape(std::vector<int64_t>(size_t(y.shape().rank()), 1)).with(axis, y.shape()[axis]);
      const Expr place = cast(Expr(y.graph(), iota(y.graph(), along, axis)), compute_type(y.dtype()));
      const Expr own = double(window[i]) / minimum(end - place * double(strides[i]), double(window[i]));
      factor = factor.value() ? factor * own : own;
    }
    return factor.value() ? cast(cast(y, compute_type(y.dtype())) * factor, y.dtype()) : y;
  }

  // Squares are added up in the type of the arithmetic, which holds them. A window of zeros has gradient 0: the root's
  // own would be infinite.
  static Expr norm(Expr x, const Attributes& attributes) {
    const double size = double(Shape(attributes.integers("window")).elements());
    Expr total = average(square(cast(x, compute_type(x.dtype()))), attributes, true) * size;
    return cast(total * apply("rsqrt", maximum(total, 1e-30)), x.dtype());
  }

  // Windows over all axes but the batch.
  Attributes attributes_of(Expr x, bool caffe) const {
    const int axes = axes_of_space(x, "pooling");
    const Shape sample = x.shape().slice(1, x.shape().rank());
    std::vector<int64_t> window = params.fshape.all ? space(x) : params.fshape.of_space(axes, 1, "fshape", "c");
    window.push_back(params.fshape.of('c', 1));
    const std::vector<int64_t> strides = strides_of(window, axes);
    std::vector<int64_t> before = params.padding.of_space(axes, 0, "padding", "c"), padding;
    before.push_back(params.padding.of('c', 0));
    check_fits(x, window, before);
    for (size_t i = 0; i < window.size(); ++i) {
      padding.push_back(before[i]);
      padding.push_back(caffe ? filling(sample[int(i)], window[i], strides[i], before[i]) : before[i]);
    }
    return {{"window", window}, {"strides", strides}, {"padding", padding}};
  }

  // As in neon, an axis without a stride goes on by its window.
  std::vector<int64_t> strides_of(const std::vector<int64_t>& window, int axes) const {
    if (!params.strides.given()) return window;
    std::vector<int64_t> out = params.strides.of_space(axes, 1, "strides", "c");
    out.push_back(window.back());
    if (params.strides.named.empty()) return out;
    const std::string names = axes == 3 ? "dhwc" : "hwc";
    for (size_t i = 0; i < out.size(); ++i) out[i] = params.strides.of(names[i], window[i]);
    return out;
  }

  static void check_fits(Expr x, const std::vector<int64_t>& window, const std::vector<int64_t>& padding) {
    const std::vector<int64_t> size(window.begin(), window.end() - 1), ones(size.size(), 1);
    const std::vector<int64_t> around(padding.begin(), padding.end() - 1);
    check_windows(x, {size, ones, around, around, ones}, "window");
    if (const int64_t maps = x.shape().back(); window.back() > maps + 2 * padding.back())
      fail(ErrorKind::config, "a window over ", window.back(), " feature maps does not fit in ", maps,
           padding.back() ? text(" and padding of ", 2 * padding.back()) : "");
    for (size_t i = 0; i < window.size(); ++i)
      if (padding[i] >= window[i])
        fail(ErrorKind::config, "pooling: padding of ", padding[i], i < size.size() ? "" : " feature maps",
             " must be less than the window of ", window[i], ", or windows at the border would hold padding alone");
  }

  // Padding after an axis with which its last elements are seen, too: as many windows as begin inside of it.
  static int64_t filling(int64_t length, int64_t window, int64_t stride, int64_t before) {
    const int64_t room = length + 2 * before - window;
    if (room < 0) return before;
    int64_t windows = (room + stride - 1) / stride + 1;
    if ((windows - 1) * stride >= length + before) --windows;
    return std::max((windows - 1) * stride + window - length - before, before);
  }
};
NEON_REGISTER(Layer, Pooling,
              "Pooling: the largest element, mean or root of the summed squares of each window, of images, volumes or "
              "sequences.",
              {"PoolingLayer"});

}  // namespace

}  // namespace neon
