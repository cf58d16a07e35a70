// Images that are cut, padded and mirrored alike, as an evaluation does with the middle of an image and with its views.
#include <algorithm>

#include "backends/graph/images.h"
#include "backends/graph/ops.h"
#include "neon/onnx/translator.h"

namespace neon::onnx {

namespace {

// Pixels `first` to `first + count` of an axis of `length` pixels; these may lie outside.
struct PixelSpan {
  int64_t first, count, length;
  int64_t begin() const { return std::max<int64_t>(first, 0); }
  int64_t inside() const { return std::min(first + count, length) - begin(); }
  int64_t before() const { return begin() - first; }
  int64_t behind() const { return std::max<int64_t>(first + count - length, 0); }
};

std::string padded(Translator& to, const std::string& x, const std::vector<int64_t>& pads, Border border) {
  if (std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; })) return x;
  const char* mode = border == Border::zero ? "constant" : border == Border::edge ? "edge" : "reflect";
  return to.writer().add("Pad", {x, to.writer().list(pads), to.writer().number(0)}, {{"mode", std::string(mode)}});
}

}  // namespace

bool translate_crop(Translator& to, int index) {
  const Node& node = to.graph().node(index);
  if (!node.op->is(ops::crop)) return false;
  const Value x = node.inputs[0];
  const Tensor* const place = to.constant(node.inputs[1]);
  if (!place)
    fail(ErrorKind::config, place_of(node), " cuts each image at a place of its own, which ONNX files have not");
  const Shape &image = to.graph().shape(x), &result = to.graph().shape(node.outputs[0]);
  const Order order = to.order_of(x), places = places_of(order);
  const auto border = Border(node.attributes.integer("border"));
  std::string out = to.in_order(x, order);
  std::vector<int64_t> pads(8, 0);
  for (const int axis : {1, 2}) {
    const PixelSpan span{int64_t(place->at(axis - 1)), result[axis], image[axis]};
    const auto at = size_t(places[size_t(axis)]);
    if (span.inside() < 1 || (border == Border::reflect && std::max(span.before(), span.behind()) >= span.inside()))
      fail(ErrorKind::config, place_of(node), " reaches far beyond the image, which has no translation to ONNX");
    pads[at] = span.before(), pads[4 + at] = span.behind();
    if (span.inside() < span.length) out = part_along(to, out, int64_t(at), span.begin(), span.inside());
  }
  out = padded(to, out, pads, border);
  if (place->at(2) != 0) {  // from the last column to the one before the first
    const auto list = [&](int64_t number) { return to.writer().list({number}); };
    out = to.writer().add("Slice", {out, list(-1), list(-result[2] - 1), list(places[2]), list(-1)});
  }
  to.place(node.outputs[0], out, order);
  return true;
}

}  // namespace neon::onnx
