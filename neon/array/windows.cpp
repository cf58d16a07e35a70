// Convolutions and pooling in expressions: ops of images and volumes, with their channels last.
#include "backends/graph/windows.h"

#include <algorithm>

#include "neon/array/node.h"

namespace neon {

namespace {

using Sizes = std::vector<int64_t>;

// A number for each of `axes`: all of `given`, its only one, or `usual` where nothing is given.
Sizes each(const char* what, const Sizes& given, size_t axes, int64_t usual) {
  if (given.empty()) return Sizes(axes, usual);
  if (given.size() == 1) return Sizes(axes, given[0]);
  if (given.size() != axes)
    fail(ErrorKind::config, what, " ", Shape(given), ": expected one number, or one for each of ", axes, " axes");
  return given;
}

// As much before as after.
Sizes on_both_sides(const Sizes& padding) {
  Sizes out;
  for (int64_t size : padding) out.insert(out.end(), {size, size});
  return out;
}

size_t axes_of_space(const char* what, const Lazy& x) {
  const int rank = x.shape().rank();
  if (rank != 4 && rank != 5)
    fail(ErrorKind::config, what, " takes images (N,H,W,C) or volumes (N,D,H,W,C), got ", x.shape());
  return size_t(rank - 2);
}

// Operands of one floating type as they are, others in the type of the arithmetic.
std::vector<NodePtr> of_one_type(const Lazy& a, const Lazy& b) {
  if (a.dtype() == b.dtype() && is_floating(a.dtype())) return {a.node(), b.node()};
  return in_arithmetic({a.node(), b.node()});
}

Attributes filter_attributes(const WindowSteps& steps, size_t axes) {
  return {{"strides", each("strides", steps.strides, axes, 1)},
          {"padding", on_both_sides(each("padding", steps.padding, axes, 0))},
          {"dilation", each("dilation", steps.dilation, axes, 1)},
          {"groups", steps.groups}};
}

Lazy pooled(const char* name, OpName op, const Lazy& x, const Sizes& given, const WindowSteps& steps) {
  const size_t axes = axes_of_space(name, x);
  if (given.empty()) fail(ErrorKind::config, name, ": expected the window's size, one number or one for each axis");
  if (!steps.dilation.empty() || steps.groups != 1)
    fail(ErrorKind::config, name, ": a window has neither dilation nor groups; leave them out");
  const bool over_channels = given.size() == axes + 1;
  const auto whole = [&](const char* what, const Sizes& sizes, int64_t usual, int64_t of_channels) {
    Sizes out = each(what, sizes, sizes.size() == axes + 1 ? axes + 1 : axes, usual);
    if (out.size() == axes) out.push_back(of_channels);
    return out;
  };
  const Sizes window = whole("window", given, 1, 1);
  const Sizes strides = steps.strides.empty() ? window : whole("strides", steps.strides, 1, window.back());
  const Sizes padding = whole("padding", steps.padding, 0, 0);
  if (!over_channels && (strides.back() != 1 || padding.back() != 0))
    fail(ErrorKind::config, name, ": strides or padding of channels, of which the window ", Shape(given),
         " says nothing");
  Attributes attributes = {{"window", window}, {"strides", strides}, {"padding", on_both_sides(padding)}};
  if (std::string_view(op) == std::string_view(ops::pool_avg))
    attributes = attributes.with("count_padding", int64_t(0));
  const NodePtr node = is_floating(x.dtype()) ? x.node() : in_arithmetic({x.node()})[0];
  return Lazy(make_node(op, {node}, std::move(attributes)));
}

}  // namespace

Lazy convolution(const Lazy& x, const Lazy& w, const WindowSteps& steps) {
  return Lazy(
      make_node(ops::convolution, of_one_type(x, w), filter_attributes(steps, axes_of_space("convolution", x))));
}

Lazy deconvolution(const Lazy& y, const Lazy& w, const WindowSteps& steps) {
  const size_t axes = axes_of_space("deconvolution", y);
  if (w.shape().rank() != y.shape().rank())
    fail(ErrorKind::config, "deconvolution of ", y.shape(), " takes filters (K,R,S,C), got ", w.shape());
  const Attributes attributes = filter_attributes(steps, axes);
  const Windows windows = windows_of(attributes, {w.shape().begin() + 1, w.shape().end() - 1});
  Sizes sizes;
  for (int axis = 0; axis < int(axes); ++axis) {
    const int64_t padding = windows.before[size_t(axis)] + windows.after[size_t(axis)];
    sizes.push_back((y.shape()[axis + 1] - 1) * windows.strides[size_t(axis)] + windows.extent(axis) - padding);
    if (sizes.back() < 1)
      fail(ErrorKind::config, "deconvolution of ", y.shape(), " by ", w.shape(), " leaves nothing along axis ",
           axis + 1, ": the padding is too much");
  }
  return Lazy(make_node(ops::convolution_data_gradient, of_one_type(y, w), attributes.with("sizes", std::move(sizes))));
}

Lazy max_pool(const Lazy& x, const Sizes& window, const WindowSteps& steps) {
  return pooled("max_pool", ops::pool_max, x, window, steps);
}
Lazy mean_pool(const Lazy& x, const Sizes& window, const WindowSteps& steps) {
  return pooled("mean_pool", ops::pool_avg, x, window, steps);
}

}  // namespace neon
