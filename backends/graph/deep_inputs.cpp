// A convolution with stride s over x is one with stride 1 over blocks of s × s pixels: filters that are as many blocks
// wide as they reach into, with zeros where a block goes beyond the filter. x (N,H,W,C) -> blocks (N,H/s,W/s,s·s·C).
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

constexpr int64_t kFewChannels = 8;    // of 16 bits each they are one access
constexpr int64_t kMostChannels = 64;  // of blocks: beyond, zeros in the filters cost more than is won

using Sizes = std::vector<int64_t>;

// Of one convolution: how its input and its filters become blocks.
struct Deepening {
  // x (N,H,W,C), filters of (R,S), y (N,P,Q,K)
  Deepening(const Windows& windows, const Shape& x, const Shape& y) : strides(windows.strides), size(windows.size) {
    channels = strides[0] * strides[1] * x.back();
    channels = (channels + kFewChannels - 1) / kFewChannels * kFewChannels;
    for (size_t axis : {0, 1}) {
      const int64_t step = strides[axis];
      reach.push_back((size[axis] + step - 1) / step);
      of_filter.insert(of_filter.end(), {0, reach[axis] * step - size[axis]});
      const int64_t seen = (y[int(axis) + 1] - 1 + reach[axis]) * step;
      of_input.insert(of_input.end(), {windows.before[axis], seen - windows.before[axis] - x[int(axis) + 1]});
    }
  }
  Value deep(Graph& graph, Value array, const Sizes& padding) const {
    return graph.add("space_to_depth", {array}, {{"blocks", strides}, {"padding", padding}, {"channels", channels}});
  }
  // Windows of blocks.
  Attributes windows() const {
    return {
        {"strides", Sizes{1, 1}}, {"padding", Sizes{0, 0, 0, 0}}, {"dilation", Sizes{1, 1}}, {"groups", int64_t(1)}};
  }
  Sizes strides, size, reach, of_filter, of_input;
  int64_t channels = 0;
};

bool is_shallow(const Shape& x, const Windows& windows, int64_t groups) {
  if (x.rank() != 4 || groups != 1 || x.elements() == 0 || x.back() >= kFewChannels) return false;
  return windows.dilation == Sizes{1, 1} && windows.strides[0] * windows.strides[1] * x.back() <= kMostChannels;
}

}  // namespace

Graph with_deep_inputs(const Graph& graph) {
  return rewritten(graph, [](Graph& to, const Node& node) {
    std::vector<Value> out;
    const bool forward = node.op->name == "convolution";
    if (!forward && node.op->name != "convolution_weight_gradient") return out;
    const Shape x = to.shape(node.inputs[0]), other = to.shape(node.inputs[1]);
    const Sizes size = forward ? Sizes{other.begin() + 1, other.end() - 1} : node.attributes.integers("sizes");
    const Windows windows = windows_of(node.attributes, size);
    if (!is_shallow(x, windows, node.attributes.integer("groups"))) return out;
    const Sizes outputs = windows.outputs(Sizes{x[1], x[2]});
    const Deepening blocks(windows, x, {x[0], outputs[0], outputs[1], 1});
    const Value input = blocks.deep(to, node.inputs[0], blocks.of_input);
    if (forward)
      return std::vector{
          to.add("convolution", {input, blocks.deep(to, node.inputs[1], blocks.of_filter)}, blocks.windows())};
    const Value gradient =
        to.add("convolution_weight_gradient", {input, node.inputs[1]}, blocks.windows().with("sizes", blocks.reach));
    return std::vector{to.add(
        "depth_to_space", {gradient},
        {{"blocks", blocks.strides}, {"padding", blocks.of_filter}, {"sizes", Sizes{size[0], size[1], x.back()}}})};
  });
}

}  // namespace neon
