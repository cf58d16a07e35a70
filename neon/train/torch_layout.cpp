#include "neon/train/torch_layout.h"

#include <algorithm>

#include "backends/graph/ops.h"

namespace neon {

namespace {

// Copies `count` arrays (rows, columns) one after the other as (columns, rows).
Tensor transposed(const Tensor& from, Shape shape, int64_t count, int64_t rows, int64_t columns) {
  Tensor out(from.dtype(), shape);
  const size_t size = size_of(from.dtype());
  const auto* const read = static_cast<const std::byte*>(from.data());
  auto* const write = static_cast<std::byte*>(out.data());
  for (int64_t n = 0; n < count; ++n)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(write + size_t((n * columns + c) * rows + r) * size,
                    read + size_t((n * rows + r) * columns + c) * size, size);
  return out;
}

// All that casts and reshapes make of a variable, itself included.
std::vector<Value> forms_of(const Graph& graph, const std::string& variable) {
  std::vector<Value> out;
  for (const Value leaf : graph.leaves(LeafKind::variable))
    if (graph.producer(leaf).attributes.string("name") == variable) out.push_back(leaf);
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    if ((node.op->is(ops::cast) || node.op->is(ops::reshape)) && std::ranges::count(out, node.inputs[0]))
      out.push_back(node.outputs[0]);
  }
  return out;
}

// Whether the images x lie with their channels last, as layers give them; the samples may lie otherwise, and what
// Reshape makes.
bool are_channels_last(const Graph& graph, Value x, bool data_channels_last) {
  std::vector<bool> channels_first(size_t(graph.value_count()));
  for (int i = 0; i <= graph.producer_index(x); ++i) {
    const Node& node = graph.node(i);
    bool first = false;
    if (node.op->is(ops::gather)) first = !data_channels_last;
    else if (node.op->is(ops::reshape)) first = node.attributes.has("channels_first");
    else if (node.op->is(ops::transpose))
      first = node.attributes.integers("permutation")[1] == graph.shape(node.outputs[0]).rank() - 1;
    else first = std::ranges::any_of(node.inputs, [&](Value each) { return channels_first[size_t(each.id)]; });
    for (const Value each : node.outputs) channels_first[size_t(each.id)] = first;
  }
  return !channels_first[size_t(x.id)];
}

// c where x is a function of variance + c, as the inverse deviation is
std::optional<double> added_to_argument(const Graph& graph, Value x) {
  const Node& function = graph.producer(x);
  if (function.inputs.size() != 1) return {};
  const Node& added = graph.producer(function.inputs[0]);
  if (!added.op->is(ops::add)) return {};
  for (const Value each : added.inputs)
    if (graph.producer(each).op->is(ops::constant)) return graph.producer(each).attributes.real("value");
  return {};
}

// The first product by the weights `name`, of the forward pass; null: none.
const Node* product_by(const Graph& graph, const std::string& name) {
  const std::vector<Value> forms = forms_of(graph, name);
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    if ((node.op->is(ops::matmul) || node.op->is(ops::convolution)) && std::ranges::count(forms, node.inputs[1]))
      return &node;
  }
  return nullptr;
}

Value input_of(const Graph& graph, const std::string& name) {
  const Node* const product = product_by(graph, name);
  return product ? product->inputs[0] : Value();
}

// The value that casts and reshapes made x of, or the first such value of at least that rank.
Value before_reshapes(const Graph& graph, Value x, int rank) {
  while (x && graph.shape(x).rank() < rank) {
    const Node& node = graph.producer(x);
    if (!node.op->is(ops::reshape) && !node.op->is(ops::cast)) return x;
    x = node.inputs[0];
  }
  return x;
}

// keep where the node is x less(draw, keep), as Dropout multiplies by a mask; otherwise 1.
double kept_share(const Graph& graph, const Node& node) {
  if (!node.op->is(ops::mul)) return 1;
  for (const Value each : node.inputs) {
    const Node& mask = graph.producer(each);
    const Node& less = mask.op->is(ops::cast) ? graph.producer(mask.inputs[0]) : mask;
    if (less.inputs.size() != 2) continue;
    const Node &draw = graph.producer(less.inputs[0]), &keep = graph.producer(less.inputs[1]);
    if ((draw.op->is(ops::uniform) || draw.op->is(ops::keyed_uniform)) && keep.op->is(ops::constant))
      return keep.attributes.real("value");
  }
  return 1;
}

}  // namespace

bool are_filters(const Parameter& p) { return p.layer_class == "Convolution" || p.layer_class == "Deconvolution"; }

Shape torch_shape(const Parameter& p) {
  const Shape shape = p.whole_shape();
  if (!are_filters(p)) return shape;
  return Shape{shape[0], shape.back()}.concat(shape.slice(1, shape.rank() - 1));
}

std::optional<Shape> images_before(const Graph& graph, const Parameter& p, bool data_channels_last) {
  const Value x = before_reshapes(graph, input_of(graph, p.name), 4);
  if (!x || graph.shape(x).rank() < 4 || !are_channels_last(graph, x, data_channels_last)) return {};
  return graph.shape(x).slice(1, graph.shape(x).rank());
}

bool lie_transposed(const Graph& graph, const Parameter& p) {
  const Node* const product = p.layer_class == "Linear" ? product_by(graph, p.name) : nullptr;
  return product && product->op->is(ops::matmul) && product->attributes.integer("transpose_b") == 0;
}

double kept_before(const Graph& graph, const Parameter& p) {
  const Value x = before_reshapes(graph, input_of(graph, p.name), Shape::kMaxRank);
  return x ? kept_share(graph, graph.producer(x)) : 1;
}

std::optional<double> epsilon_of(const Graph& graph, const std::string& gamma) {
  const std::vector<Value> forms = forms_of(graph, gamma);
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    if (node.inputs.size() < 2) continue;
    if (node.op->is(ops::batch_norm) && std::ranges::count(forms, node.inputs[1]))
      return node.attributes.real("epsilon");
    for (const int own : {0, 1})
      if (node.op->is(ops::mul) && std::ranges::count(forms, node.inputs[size_t(own)]))
        if (const auto added = added_to_argument(graph, node.inputs[size_t(1 - own)])) return added;
  }
  return {};
}

Tensor with_filter_channels_last(const Tensor& filters) {
  const Shape& shape = filters.shape();
  const Shape places = shape.slice(2, shape.rank());
  return transposed(filters, Shape{shape[0]}.concat(places).concat({shape[1]}), shape[0], shape[1], places.elements());
}

Tensor with_columns_channels_last(const Tensor& weights, const Shape& images) {
  const int64_t channels = images.back();
  return transposed(weights, weights.shape(), weights.shape()[0], channels, images.elements() / channels);
}

}  // namespace neon
