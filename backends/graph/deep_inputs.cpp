// A convolution of few channels becomes one of many, over what windows see as channels (op patches), with the filters
// moved alike and zeros where there is nothing. x (N,H,W,C), filters w (K,R,S,C):
//   windows of few numbers, L = R S C    whole ones: x -> (N,P,Q,L), w -> (K,1,1,L), which is a product of matrices
//   of more, with a stride s             s rows of a window, and filters of stride 1 over the next such rows:
//                                        x -> (N,H/s,Q,s S C), w -> (K,R/s,1,s S C)
//   of still more                        blocks of s x s pixels, and filters of stride 1 over those side by side:
//                                        x -> (N,H/s,W/s,s s C), w -> (K,R/s,S/s,s s C)
//   where the device's kernels read pixels as they are, steps and padding remain:
//                                        x -> (N,H,W,4), w -> (K,R,S,4)
// Sizes are rounded up, channels to a multiple of 8. Tensor cores take the more at once the more channels lie together:
// of GoogLeNet's first layer, 7 x 7 of 3, blocks are 16 of its 256, rows 48 of 192.
#include <array>
#include <optional>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

constexpr int64_t kFewChannels = 8;    // of 16 bits each they are one access
constexpr int64_t kMostChannels = 64;  // beyond, zeros in the filters, or seeing pixels again, cost more than is won

using Sizes = std::vector<int64_t>;

// How the input and the filters of one convolution become patches.
struct Deepening {
  // A block is as high and as wide as a window where that is `whole`, else as the stride. `seen` (H,W)
  Deepening(const Windows& windows, const std::array<bool, 2>& whole, int64_t channels_before, const Sizes& seen)
      : size(windows.size),
        block{(whole[0] ? windows.size : windows.strides)[0], (whole[1] ? windows.size : windows.strides)[1]} {
    const int64_t all = block[0] * block[1] * channels_before;
    channels = (all + kFewChannels - 1) / kFewChannels * kFewChannels;
    const Sizes outputs = windows.outputs(seen);
    for (size_t axis : {0, 1}) {
      reach.push_back((size[axis] + block[axis] - 1) / block[axis]);
      of_filter.insert(of_filter.end(), {0, reach[axis] * block[axis] - size[axis]});
      // Rows that the last window does not reach into are left out by themselves, as they are fewer than a block.
      const int64_t blocks_seen = (outputs[axis] - 1 + reach[axis]) * block[axis];
      const int64_t after = std::max<int64_t>(blocks_seen - windows.before[axis] - seen[axis], 0);
      of_input.insert(of_input.end(), {windows.before[axis], whole[axis] ? windows.after[axis] : after});
    }
    steps = windows.strides, dilation = windows.dilation;
  }
  Value input(Graph& graph, Value x) const { return patches(graph, x, steps, of_input, dilation); }
  Value filters(Graph& graph, Value w) const { return patches(graph, w, block, of_filter, {1, 1}); }
  Value filters_back(Graph& graph, Value w, int64_t channels_before) const {
    return graph.add(ops::depth_to_space, {w},
                     {{"blocks", block}, {"sizes", Sizes{size[0], size[1], channels_before}}});
  }
  // Windows over patches.
  static Attributes windows() {
    return {
        {"strides", Sizes{1, 1}}, {"padding", Sizes{0, 0, 0, 0}}, {"dilation", Sizes{1, 1}}, {"groups", int64_t(1)}};
  }
  Sizes size, block, reach;

 private:
  Value patches(Graph& graph, Value array, const Sizes& strides, const Sizes& padding, const Sizes& apart) const {
    return graph.add(
        ops::patches, {array},
        {{"sizes", block}, {"strides", strides}, {"padding", padding}, {"dilation", apart}, {"channels", channels}});
  }
  Sizes steps, dilation, of_filter, of_input;
  int64_t channels = 0;
};

// Whether a block is as high, and as wide, as a window; nothing where no block has few enough numbers. Pixels that are
// a dilation apart are only seen by whole windows.
std::optional<std::array<bool, 2>> sides_of_blocks(const Windows& windows, int64_t channels) {
  for (const auto& whole : {std::array{true, true}, std::array{false, true}, std::array{false, false}}) {
    int64_t numbers = channels;
    bool suits = true;
    for (size_t axis : {0, 1}) {
      numbers *= (whole[axis] ? windows.size : windows.strides)[axis];
      suits = suits && (whole[axis] || windows.dilation[axis] == 1);
    }
    if (suits && numbers <= kMostChannels) return whole;
  }
  return {};
}

// Channels of zeros behind those of an array (N,H,W,C).
Value filled_up(Graph& graph, Value array, int64_t channels) {
  const Sizes one{1, 1};
  return graph.add(
      ops::patches, {array},
      {{"sizes", one}, {"strides", one}, {"padding", Sizes(4, 0)}, {"dilation", one}, {"channels", channels}});
}

// The result of a convolution, or of its gradient by the filters, of an image of more channels.
Value with_channels(Graph& to, const Node& node, int64_t channels) {
  const Value input = filled_up(to, node.inputs[0], channels);
  if (node.op->traits.convolution == ConvolutionKind::forward)
    return to.add(ops::convolution, {input, filled_up(to, node.inputs[1], channels)}, node.attributes);
  const Value gradient = to.add(ops::convolution_weight_gradient, {input, node.inputs[1]}, node.attributes);
  const Sizes& size = node.attributes.integers("sizes");
  return to.add(ops::depth_to_space, {gradient},
                {{"blocks", Sizes{1, 1}}, {"sizes", Sizes{size[0], size[1], to.shape(node.inputs[0]).back()}}});
}

}  // namespace

Graph with_deep_inputs(const Graph& graph, const DeviceKernels& kernels) {
  return rewritten(graph, [&](Graph& to, const Node& node) {
    std::vector<Value> out;
    const ConvolutionKind kind = node.op->traits.convolution;
    const bool forward = kind == ConvolutionKind::forward;
    if (!forward && kind != ConvolutionKind::by_filters) return out;
    const Shape x = to.shape(node.inputs[0]), other = to.shape(node.inputs[1]);
    if (x.rank() != 4 || node.attributes.integer("groups") != 1 || x.elements() == 0 || x.back() >= kFewChannels)
      return out;
    if (kernels.pairs_pixels && kernels.pairs_pixels(to, node, kernels))
      return x.back() == kChannelsOfPair ? out : std::vector{with_channels(to, node, kChannelsOfPair)};
    const Sizes size = forward ? Sizes{other.begin() + 1, other.end() - 1} : node.attributes.integers("sizes");
    const Windows windows = windows_of(node.attributes, size);
    const auto whole = sides_of_blocks(windows, x.back());
    if (!whole) return out;
    const Deepening deep(windows, *whole, x.back(), {x[1], x[2]});
    const Value input = deep.input(to, node.inputs[0]);
    if (forward)
      return std::vector{to.add(ops::convolution, {input, deep.filters(to, node.inputs[1])}, Deepening::windows())};
    const Value gradient = to.add(ops::convolution_weight_gradient, {input, node.inputs[1]},
                                  Deepening::windows().with("sizes", deep.reach));
    return std::vector{deep.filters_back(to, gradient, x.back())};
  });
}

}  // namespace neon
