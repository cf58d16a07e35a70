// Blocks of pixels as channels, and back: arrays (N,H,W,C) whose channels come last.
//   space_to_depth(x) -> y    y[n,p,q,(i * bw + j) * C + c] = x[n, p * bh + i - top, q * bw + j - left, c], 0 outside
//   of
//                             x and in channels from bh * bw * C on
//   depth_to_space(y) -> x    its adjoint, for an x of `sizes` (H,W,C)
// `blocks` (bh,bw), `padding` (top, bottom, left, right); rows and columns beyond a bottom or right below 0 are left
// out. H + top + bottom goes into blocks evenly. `channels` is the number of y's, at least bh * bw * C.
#include "backends/graph/expression.h"
#include "backends/graph/op.h"

namespace neon {

namespace {

using Sizes = std::vector<int64_t>;

struct Blocks {
  explicit Blocks(const Attributes& attributes)
      : size(attributes.integers("blocks")), padding(attributes.integers("padding")) {
    if (size.size() != 2 || size[0] < 1 || size[1] < 1 || padding.size() != 4 || padding[0] < 0 || padding[2] < 0)
      fail(ErrorKind::config, "blocks ", Shape(size), " should be two sizes, and padding ", Shape(padding),
           " four numbers of which the first and the third are not below 0");
  }
  // Blocks along axis 0 or 1 of `length` pixels.
  int64_t count(size_t axis, int64_t length) const {
    const int64_t all = length + padding[2 * axis] + padding[2 * axis + 1];
    if (all < 1 || all % size[axis])
      fail(ErrorKind::config, length, " pixels and padding of ", padding[2 * axis], " and ", padding[2 * axis + 1],
           " do not go into blocks of ", size[axis], " evenly");
    return all / size[axis];
  }
  Sizes size, padding;
};

void check_images(const TensorType& x) {
  if (x.shape.rank() != 4) fail(ErrorKind::config, "blocks of pixels are taken of images (N,H,W,C), got ", x.shape);
}

std::vector<TensorType> infer_space_to_depth(const InferContext& c) {
  const TensorType& x = c.inputs[0];
  check_images(x);
  const Blocks blocks(c.attributes);
  const int64_t channels = c.attributes.integer("channels"), least = blocks.size[0] * blocks.size[1] * x.shape[3];
  if (channels < least) fail(ErrorKind::config, "blocks have ", least, " channels, more than ", channels);
  return {{x.dtype, {x.shape[0], blocks.count(0, x.shape[1]), blocks.count(1, x.shape[2]), channels}}};
}

std::vector<TensorType> infer_depth_to_space(const InferContext& c) {
  const TensorType& y = c.inputs[0];
  check_images(y);
  const Blocks blocks(c.attributes);
  const Sizes& sizes = c.attributes.integers("sizes");
  if (sizes.size() != 3 || y.shape[3] < blocks.size[0] * blocks.size[1] * sizes[2] ||
      y.shape[1] != blocks.count(0, sizes[0]) || y.shape[2] != blocks.count(1, sizes[1]))
    fail(ErrorKind::config, "blocks ", y.shape, " are not those of images ", Shape(sizes));
  return {{y.dtype, {y.shape[0], sizes[0], sizes[1], sizes[2]}}};
}

void space_to_depth_gradient(GradientContext& c) {
  const Attributes& a = c.node.attributes;
  const Shape& x = c.graph.shape(c.input(0));
  c.results[0] = c.graph.add(
      "depth_to_space", {c.cotangent()},
      {{"blocks", a.integers("blocks")}, {"padding", a.integers("padding")}, {"sizes", Sizes{x[1], x[2], x[3]}}});
}
void depth_to_space_gradient(GradientContext& c) {
  const Attributes& a = c.node.attributes;
  c.results[0] = c.graph.add("space_to_depth", {c.cotangent()},
                             {{"blocks", a.integers("blocks")},
                              {"padding", a.integers("padding")},
                              {"channels", c.graph.shape(c.input(0))[3]}});
}

// `axis` with zeros added at both ends, or elements taken away where a number is below 0.
Value padded(Graph& graph, Value x, int axis, int64_t before, int64_t after) {
  const Shape& shape = graph.shape(x);
  const int64_t first = std::max<int64_t>(-before, 0), count = shape[axis] - first - std::max<int64_t>(-after, 0);
  if (count != shape[axis]) x = graph.add("slice", {x}, {{"axis", int64_t(axis)}, {"first", first}, {"count", count}});
  std::vector<Value> parts;
  auto zeros = [&](int64_t size) {
    if (size > 0)
      parts.push_back(broadcast_to(graph, graph.constant(0, graph.dtype(x)), graph.shape(x).with(axis, size)));
  };
  zeros(before);
  parts.push_back(x);
  zeros(after);
  return parts.size() == 1 ? x : graph.add("concat", parts, {{"axis", int64_t(axis)}});
}

std::vector<Value> define_space_to_depth(Graph& graph, const Node& node) {
  const Blocks blocks(node.attributes);
  Value x = node.inputs[0];
  for (size_t axis : {0, 1})
    x = padded(graph, x, int(axis) + 1, blocks.padding[2 * axis], blocks.padding[2 * axis + 1]);
  const Shape shape = graph.shape(x);
  const int64_t rows = shape[1] / blocks.size[0], columns = shape[2] / blocks.size[1];
  x = reshape(graph, x, {shape[0], rows, blocks.size[0], columns, blocks.size[1], shape[3]});
  x = transpose(graph, x, {0, 1, 3, 2, 4, 5});
  const int64_t channels = blocks.size[0] * blocks.size[1] * shape[3];
  x = reshape(graph, x, {shape[0], rows, columns, channels});
  return {padded(graph, x, 3, 0, node.attributes.integer("channels") - channels)};
}

std::vector<Value> define_depth_to_space(Graph& graph, const Node& node) {
  const Blocks blocks(node.attributes);
  const int64_t depth = node.attributes.integers("sizes")[2];
  Value y = node.inputs[0];
  const Shape shape = graph.shape(y);
  y = padded(graph, y, 3, 0, blocks.size[0] * blocks.size[1] * depth - shape[3]);
  y = reshape(graph, y, {shape[0], shape[1], shape[2], blocks.size[0], blocks.size[1], depth});
  y = transpose(graph, y, {0, 1, 3, 2, 4, 5});
  y = reshape(graph, y, {shape[0], shape[1] * blocks.size[0], shape[2] * blocks.size[1], depth});
  for (size_t axis : {0, 1})
    y = padded(graph, y, int(axis) + 1, -blocks.padding[2 * axis], -blocks.padding[2 * axis + 1]);
  return {y};
}

const OpRegistration depth_ops[] = {
    OpRegistration({.name = "space_to_depth",
                    .infer = infer_space_to_depth,
                    .gradient = space_to_depth_gradient,
                    .define = define_space_to_depth}),
    OpRegistration({.name = "depth_to_space",
                    .infer = infer_depth_to_space,
                    .gradient = depth_to_space_gradient,
                    .define = define_depth_to_space}),
};

}  // namespace

}  // namespace neon
