// Convolutions and pooling, whose arrays are (N,C,H,W) in ONNX, filters (K,C,R,S).
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"
#include "neon/onnx/translator.h"

namespace neon::onnx {

namespace {

using Sizes = std::vector<int64_t>;

Sizes in_space(const Shape& shape) { return {shape.begin() + 1, shape.end() - 1}; }

// neon has the padding before and after an axis side by side, ONNX first all before.
Sizes pads_of(const Sizes& padding, size_t axes) {
  Sizes out;
  for (size_t after = 0; after < 2; ++after)
    for (size_t axis = 0; axis < axes; ++axis) out.push_back(padding[2 * axis + after]);
  return out;
}

void check_pads(const Node& node, const Sizes& pads) {
  for (const int64_t pad : pads)
    if (pad < 0) fail(ErrorKind::config, place_of(node), " has negative padding, which ONNX files have not");
}

Attributes attributes_of(const Translator& to, const Node& node) {
  const Sizes size = in_space(to.graph().shape(node.inputs[1]));
  const Sizes pads = pads_of(node.attributes.integers("padding"), size.size());
  check_pads(node, pads);
  return {{"kernel_shape", size},
          {"strides", node.attributes.integers("strides")},
          {"pads", pads},
          {"dilations", node.attributes.integers("dilation")},
          {"group", node.attributes.integer("groups")}};
}

// The elements behind an axis that no window would reach: ONNX takes the shortest result otherwise.
Sizes more_outputs(const Translator& to, const Node& node) {
  const Windows windows = windows_of(node.attributes, in_space(to.graph().shape(node.inputs[1])));
  const Sizes from = in_space(to.graph().shape(node.inputs[0])), sizes = node.attributes.integers("sizes");
  Sizes out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t least =
        (from[i] - 1) * windows.strides[i] - windows.before[i] - windows.after[i] + windows.extent(int(i));
    out.push_back(sizes[i] - least);
    if (out.back() < 0 || out.back() >= windows.strides[i])
      fail(ErrorKind::config, place_of(node), " of ", sizes[i], " elements has no counterpart in ONNX");
  }
  return out;
}

void translate_convolution(Translator& to, const Node& node, bool forward) {
  const Order order = channels_first(to.graph().shape(node.inputs[0]).rank());
  const std::string x = to.in_order(node.inputs[0], order), w = to.in_order(node.inputs[1], order);
  Attributes of = attributes_of(to, node);
  if (!forward) of = of.with("output_padding", more_outputs(to, node));
  to.place(node.outputs[0], to.writer().add(forward ? "Conv" : "ConvTranspose", {x, w}, of), order);
}

// Whether windows have one place along axis `axis` of a sample, and so leave it as it is.
bool leaves_axis(const Attributes& of, size_t axis) {
  const Sizes& padding = of.integers("padding");
  return of.integers("window")[axis] == 1 && of.integers("strides")[axis] == 1 && padding[2 * axis] == 0 &&
         padding[2 * axis + 1] == 0;
}

// ONNX pools all axes but the first two. So the feature maps stand second, or, where these are pooled, the first axis
// in space, which windows then must leave as it is.
void translate_pooling(Translator& to, const Node& node, bool largest) {
  const int rank = to.graph().shape(node.inputs[0]).rank();
  Sizes window = node.attributes.integers("window"), strides = node.attributes.integers("strides"),
        padding = node.attributes.integers("padding");
  const size_t kept = leaves_axis(node.attributes, window.size() - 1) ? window.size() - 1 : 0;
  if (!leaves_axis(node.attributes, kept))
    fail(ErrorKind::config, place_of(node), " pools rows and feature maps at once, which has no counterpart in ONNX");
  window.erase(window.begin() + int64_t(kept)), strides.erase(strides.begin() + int64_t(kept));
  padding.erase(padding.begin() + 2 * int64_t(kept), padding.begin() + 2 * int64_t(kept) + 2);
  Attributes of = {{"kernel_shape", window}, {"strides", strides}, {"pads", pads_of(padding, window.size())}};
  if (!largest) of = of.with("count_include_pad", node.attributes.integer("count_padding"));
  const Order order = kept == 0 ? usual_order(rank) : channels_first(rank);
  const std::string x = to.in_order(node.inputs[0], order);
  to.place(node.outputs[0], to.writer().add(largest ? "MaxPool" : "AveragePool", {x}, of), order);
}

}  // namespace

bool translate_windows(Translator& to, int index) {
  const Node& node = to.graph().node(index);
  if (node.op->is(ops::convolution)) translate_convolution(to, node, true);
  else if (node.op->is(ops::convolution_data_gradient)) translate_convolution(to, node, false);
  else if (node.op->is(ops::pool_max)) translate_pooling(to, node, true);
  else if (node.op->is(ops::pool_avg)) translate_pooling(to, node, false);
  else return false;
  return true;
}

}  // namespace neon::onnx
