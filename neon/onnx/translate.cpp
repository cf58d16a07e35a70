#include "neon/onnx/translate.h"

#include <algorithm>
#include <numeric>

#include "backends/graph/ops.h"
#include "neon/onnx/translator.h"

namespace neon::onnx {

Order usual_order(int rank) {
  Order out(static_cast<size_t>(rank));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Order channels_first(int rank) {
  Order out = usual_order(rank);
  std::rotate(out.begin() + 1, out.end() - 1, out.end());
  return out;
}

Order places_of(const Order& order) {
  Order out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[size_t(order[i])] = int(i);
  return out;
}

namespace {

std::vector<int64_t> wide(const Order& order) { return {order.begin(), order.end()}; }

}  // namespace

const Tensor* Translator::constant(Value value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? nullptr : &found->second;
}

Order Translator::order_of(Value value) const {
  const auto found = placed_.find(value);
  return found == placed_.end() ? usual_order(graph_.shape(value).rank()) : found->second.front().order;
}

std::string Translator::constant_in(Value value, const Order& order) {
  std::string& name = written_constants_[{value, order}];
  if (!name.empty()) return name;
  Tensor tensor = *constant(value);
  std::vector<int64_t> sizes(order.size() - size_t(tensor.shape().rank()), 1);
  sizes.insert(sizes.end(), tensor.shape().begin(), tensor.shape().end());
  tensor = tensor.reshaped(Shape(sizes));
  const Node& maker = graph_.producer(value);
  const bool stored = maker.op->traits.leaf == LeafKind::variable;
  return name = writer_.array(stored ? maker.attributes.string("name") : text(maker.scope, " constant"),
                              order == usual_order(int(order.size())) ? tensor : permuted(tensor, order));
}

std::string Translator::with_more_axes(Value value, const Order& order) {
  std::vector<int64_t> sizes = net_.sizes(value);
  sizes.insert(sizes.begin(), order.size() - sizes.size(), 1);
  std::vector<int64_t> turned;
  for (const int axis : order) turned.push_back(sizes[size_t(axis)]);
  const auto large = [](int64_t size) { return size != 1; };
  // No number moves if one axis alone has several numbers.
  const bool moves = std::ranges::count_if(sizes, large) > 1;
  for (int64_t& size : moves ? sizes : turned) size = std::max<int64_t>(size, -1);
  const std::string out = writer_.add("Reshape", {as_it_is(value), writer_.list(moves ? sizes : turned)});
  return moves ? writer_.add("Transpose", {out}, {{"perm", wide(order)}}) : out;
}

// A constant as often as there are samples: Expand takes their number from the file's input.
std::string Translator::repeated(Value value, const Order& order) {
  const std::string once = constant_in(value, order);
  std::vector<int64_t> sizes = net_.sizes(value);
  sizes.insert(sizes.begin(), order.size() - sizes.size(), 1);
  if (batch_size_.empty()) {
    const std::string all = writer_.add("Shape", {kInput});
    batch_size_ = writer_.add("Slice", {all, writer_.list({0}), writer_.list({1}), writer_.list({0})});
  }
  std::vector<std::string> parts;
  for (const int axis : order) {
    const int64_t size = sizes[size_t(axis)];
    if (size < -1)
      fail(ErrorKind::config, place_of(graph_.producer(value)), " repeats numbers, which has no translation to ONNX");
    parts.push_back(size < 0 ? batch_size_ : writer_.list({size}));
  }
  return writer_.add("Expand", {once, writer_.add("Concat", parts, {{"axis", int64_t(0)}})});
}

std::string Translator::in_order(Value value, const Order& order) {
  const Node& maker = graph_.producer(value);
  if (maker.op->traits.leaf == LeafKind::constant) return writer_.number(maker.attributes.real("value"));
  if (constant(value)) return net_.is_constant(value) ? constant_in(value, order) : repeated(value, order);
  const int rank = graph_.shape(value).rank();
  if (rank < int(order.size()) && !net_.is_fixed(value)) {
    if (order == usual_order(int(order.size()))) return as_it_is(value);
    return with_more_axes(value, order);
  }
  if (net_.is_fixed(value))
    fail(ErrorKind::config, place_of(maker), " has other numbers for each sample, which ONNX files have not");
  if (!placed_.contains(value))
    fail(ErrorKind::config, place_of(maker), " gives an array that has no translation to ONNX");
  std::vector<Placed>& there = placed_.at(value);
  for (const Placed& one : there)
    if (one.order == order) return one.name;
  const Order places = places_of(there.front().order);
  Order turn;
  for (const int axis : order) turn.push_back(places[size_t(axis)]);
  there.push_back({writer_.add("Transpose", {there.front().name}, {{"perm", wide(turn)}}), order});
  return there.back().name;
}

Operand Translator::operand(Value value, const Order& order) {
  const Node& maker = graph_.producer(value);
  if (maker.op->traits.leaf == LeafKind::constant) {
    const double number = maker.attributes.real("value");
    return {writer_.number(number), number};
  }
  if (!is_floating(graph_.dtype(value))) return {writer_.add("Cast", {in_order(value, order)}, {{"to", kTypeF32}}), {}};
  if (constant(value) && graph_.shape(value).rank() > 0) return {constant_in(value, order), {}};
  return {graph_.shape(value).rank() == 0 ? as_it_is(value) : in_order(value, order), {}};
}

// The result has the axes in the order of its largest operand.
void Translator::translate_row(const Node& node) {
  const Value out = node.outputs[0];
  Order order = usual_order(graph_.shape(out).rank());
  int64_t most = 0;
  for (const Value input : node.inputs) {
    const Shape& shape = graph_.shape(input);
    if (constant(input) || shape.rank() < int(order.size()) || shape.elements() <= most) continue;
    most = shape.elements(), order = order_of(input);
  }
  std::vector<Operand> operands;
  for (const Value input : node.inputs) operands.push_back(operand(input, order));
  const auto made = add_row(writer_, node.op->name, operands);
  if (!made) fail(ErrorKind::config, place_of(node), " has no counterpart in ONNX, opset ", kOpset);
  place(out, *made, order);
}

bool Translator::is_data(Value value) const {
  const Node& maker = graph_.producer(value);
  return maker.op->is(ops::input) && maker.attributes.string("name") == "data";
}

bool Translator::is_batch(const Node& node) const { return node.op->is(ops::gather) && is_data(node.inputs[0]); }

std::string Translator::applied(const char* op, const std::string& to, const std::optional<Tensor>& array,
                                const Order& order) {
  return array ? writer_.add(op, {to, writer_.array("units", permuted(*array, order))}) : to;
}

void Translator::place_samples(Value value) {
  samples_ = value;
  std::string name = kInput;
  name = applied("Sub", name, form_.subtracted, form_.order);
  name = applied("Div", name, form_.divisor, form_.order);
  place(value, name, form_.order);
}

void Translator::translate(int index) {
  const Node& node = graph_.node(index);
  writer_.set_scope(node.scope);
  const OpTraits& traits = node.op->traits;
  if (traits.leaf == LeafKind::scalar || traits.draws)
    fail(ErrorKind::config, place_of(node), " gives other numbers in each step, which ONNX files have not");
  if (traits.leaf != LeafKind::none) return;
  if (node.op->is(ops::crop) && is_data(node.inputs[0])) place_samples(node.inputs[0]);
  if (is_batch(node)) return place_samples(node.outputs[0]);
  if (node.op->is_elementwise() && node.op->derivative_operand < 0) return translate_row(node);
  const bool known = translate_product(*this, index) || translate_windows(*this, index) ||
                     translate_shapes(*this, index) || translate_reductions(*this, index) ||
                     translate_crop(*this, index);
  if (!known) fail(ErrorKind::config, place_of(node), " has no translation to ONNX");
}

Model Translator::run() {
  for (int i = 0; i < graph_.node_count(); ++i)
    if (!net_.is_fixed(graph_.node(i).outputs[0])) translate(i);
  const Value y = graph_.outputs().at("y");
  if (!samples_ || net_.is_fixed(y)) fail(ErrorKind::config, "the net's outputs do not depend on its samples");
  writer_.set_scope("outputs");
  std::string last = as_it_is(y);
  last = applied("Mul", last, form_.factor, {0, 1});
  last = applied("Add", last, form_.term, {0, 1});
  Model out = writer_.finish(last);
  const std::vector<int64_t> sizes = net_.sizes(samples_);
  for (const int axis : form_.order) out.input.sizes.push_back(sizes[size_t(axis)]);
  out.input.dtype = is_floating(graph_.dtype(samples_)) ? DType::f32 : DType::i64;
  out.output.sizes = net_.sizes(y);
  return out;
}

Model translated(const NetGraph& net, const std::map<Value, Tensor>& constants, const OuterForm& form) {
  return Translator(net, constants, form).run();
}

}  // namespace neon::onnx
