// Products, softmax, and reductions.
#include <algorithm>

#include "backends/graph/ops.h"
#include "neon/onnx/translator.h"

namespace neon::onnx {

bool translate_product(Translator& to, int index) {
  const Node& node = to.graph().node(index);
  const Attributes& of = node.attributes;
  if (node.op->is(ops::matmul)) {
    const std::string a = to.as_it_is(node.inputs[0]), b = to.as_it_is(node.inputs[1]);
    to.place(node.outputs[0],
             to.writer().add("Gemm", {a, b},
                             {{"transA", of.integer("transpose_a")}, {"transB", of.integer("transpose_b")}}));
    return true;
  }
  if (!node.op->is(ops::batch_matmul)) return false;
  const auto operand = [&](int k, const char* transpose) {
    return to.in_order(node.inputs[size_t(k)], of.integer(transpose) ? Order{0, 2, 1} : Order{0, 1, 2});
  };
  const std::string a = operand(0, "transpose_a"), b = operand(1, "transpose_b");
  to.place(node.outputs[0], to.writer().add("MatMul", {a, b}));
  return true;
}

namespace {

// Whole numbers take part in sums as f32.
std::string as_real(Translator& to, Value x, const Order& order) {
  const std::string name = to.in_order(x, order);
  return is_floating(to.graph().dtype(x)) ? name : to.writer().add("Cast", {name}, {{"to", kTypeF32}});
}

}  // namespace

bool translate_reductions(Translator& to, int index) {
  const Node& node = to.graph().node(index);
  const Value x = node.inputs[0];
  const Order order = to.order_of(x), places = places_of(order);
  if (node.op->is(ops::softmax) || node.op->is(ops::log_softmax)) {
    const char* op = node.op->is(ops::softmax) ? "Softmax" : "LogSoftmax";
    to.place(node.outputs[0], to.writer().add(op, {to.in_order(x, order)}, {{"axis", int64_t(places.back())}}), order);
    return true;
  }
  const Reduction kind = node.op->traits.reduction;
  if (kind == Reduction::none) return false;
  const std::string from = as_real(to, x, order);
  std::vector<int64_t> axes;
  for (const int64_t axis : node.attributes.integers("axes")) axes.push_back(places[size_t(axis)]);
  std::ranges::sort(axes);
  const int64_t keep = 1;
  std::string out;
  if (kind == Reduction::sum) {
    out = to.writer().add("ReduceSum", {from, to.writer().list(axes)}, {{"keepdims", keep}});
  } else if (kind == Reduction::argmax) {
    if (axes.size() != 1) fail(ErrorKind::config, place_of(node), " over several axes has no counterpart in ONNX");
    const std::string at = to.writer().add("ArgMax", {from}, {{"axis", axes[0]}, {"keepdims", keep}});
    out = to.writer().add("Cast", {at}, {{"to", kTypeF32}});
  } else {
    const char* op = kind == Reduction::max ? "ReduceMax" : "ReduceMin";
    out = to.writer().add(op, {from}, {{"axes", axes}, {"keepdims", keep}});
  }
  to.place(node.outputs[0], out, order);
  return true;
}

}  // namespace neon::onnx
