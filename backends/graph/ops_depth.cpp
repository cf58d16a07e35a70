// Pixels of windows become channels, and channels become pixels: arrays (N,H,W,C) whose channels come last.
//   patches(x) -> y           y[n,p,q,(r * S + s) * C + c] = x[n, p * stride - before + r * dilation, ..., c], 0
//   outside
//                             of x and in channels from R S C on; windows of `sizes` (R,S), y (N,P,Q,`channels`)
//   depth_to_space(y) -> x    x[n,h,w,c] = y[n, h / bh, w / bw, (h % bh * bw + w % bw) * C + c], for an x of `sizes`
//                             (H,W,C): the adjoint of patches of `blocks` (bh,bw) side by side
// Only the pass with_deep_inputs() asks for them, after gradients were derived, so they have none.
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

using Sizes = std::vector<int64_t>;

void check_images(const TensorType& x, const char* what, const Sizes& window) {
  if (x.shape.rank() != 4 || window.size() != 2)
    fail(ErrorKind::config, what, " images (N,H,W,C) by windows of two axes, got ", x.shape, " and ", Shape(window));
}

std::vector<TensorType> infer_patches(const InferContext& c) {
  const TensorType& x = c.inputs[0];
  const Sizes& sizes = c.attributes.integers("sizes");
  check_images(x, "patches are taken of", sizes);
  const Sizes outputs = windows_of(c.attributes, sizes).outputs(Sizes{x.shape[1], x.shape[2]});
  const int64_t channels = c.attributes.integer("channels"), least = sizes[0] * sizes[1] * x.shape[3];
  if (channels < least) fail(ErrorKind::config, "patches have ", least, " channels, more than ", channels);
  return {{x.dtype, {x.shape[0], outputs[0], outputs[1], channels}}};
}

std::vector<TensorType> infer_depth_to_space(const InferContext& c) {
  const TensorType& y = c.inputs[0];
  const Sizes &blocks = c.attributes.integers("blocks"), &sizes = c.attributes.integers("sizes");
  check_images(y, "pixels are taken out of channels of", blocks);
  auto holds = [&](size_t axis) {
    return blocks[axis] > 0 && y.shape[int(axis) + 1] == (sizes[axis] + blocks[axis] - 1) / blocks[axis];
  };
  if (sizes.size() != 3 || !holds(0) || !holds(1) || y.shape[3] < blocks[0] * blocks[1] * sizes[2])
    fail(ErrorKind::config, "blocks ", y.shape, " of ", Shape(blocks), " pixels are not those of images ",
         Shape(sizes));
  return {{y.dtype, {y.shape[0], sizes[0], sizes[1], sizes[2]}}};
}

// The first `count` elements of an axis.
Value first_of(Graph& graph, Value x, int axis, int64_t count) {
  if (graph.shape(x)[axis] == count) return x;
  return graph.add("slice", {x}, {{"axis", int64_t(axis)}, {"first", int64_t(0)}, {"count", count}});
}

std::vector<Value> define_depth_to_space(Graph& graph, const Node& node) {
  const Sizes &blocks = node.attributes.integers("blocks"), &sizes = node.attributes.integers("sizes");
  Value y = node.inputs[0];
  const Shape shape = graph.shape(y);
  y = first_of(graph, y, 3, blocks[0] * blocks[1] * sizes[2]);
  y = reshape(graph, y, {shape[0], shape[1], shape[2], blocks[0], blocks[1], sizes[2]});
  y = transpose(graph, y, {0, 1, 3, 2, 4, 5});
  y = reshape(graph, y, {shape[0], shape[1] * blocks[0], shape[2] * blocks[1], sizes[2]});
  for (int axis : {1, 2}) y = first_of(graph, y, axis, sizes[size_t(axis) - 1]);
  return {y};
}

const OpRegistration depth_ops[] = {
    OpRegistration({.name = ops::patches, .infer = infer_patches, .traits = {.takes_prologue = true}}),
    OpRegistration({.name = ops::depth_to_space, .infer = infer_depth_to_space, .define = define_depth_to_space}),
};

}  // namespace

}  // namespace neon
