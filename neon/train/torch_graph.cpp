#include "neon/train/torch_graph.h"

#include <algorithm>
#include <set>

#include "backends/graph/ops.h"

namespace neon {

namespace {

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

// A mask that Dropout multiplies by, and the share of elements that stay; 1 where there is no mask.
struct Kept {
  Value mask;
  double share = 1;
};

// The node is x less(draw, keep), with or without a cast of the mask.
Kept kept_by(const Graph& graph, const Node& node) {
  if (!node.op->is(ops::mul)) return {};
  for (const Value each : node.inputs) {
    const Node& mask = graph.producer(each);
    const Node& less = mask.op->is(ops::cast) ? graph.producer(mask.inputs[0]) : mask;
    if (less.inputs.size() != 2) continue;
    const Node &draw = graph.producer(less.inputs[0]), &keep = graph.producer(less.inputs[1]);
    if ((draw.op->is(ops::uniform) || draw.op->is(ops::keyed_uniform)) && keep.op->is(ops::constant))
      return {each, keep.attributes.real("value")};
  }
  return {};
}

Kept kept_right_before(const Graph& graph, const Parameter& p) {
  const Value x = before_reshapes(graph, input_of(graph, p.name), Shape::kMaxRank);
  return x ? kept_by(graph, graph.producer(x)) : Kept{};
}

}  // namespace

std::optional<Shape> images_before(const Graph& graph, const Parameter& p, bool data_channels_last) {
  const Value x = before_reshapes(graph, input_of(graph, p.name), 4);
  if (!x || graph.shape(x).rank() < 4 || !are_channels_last(graph, x, data_channels_last)) return {};
  return graph.shape(x).slice(1, graph.shape(x).rank());
}

bool lie_transposed(const Graph& graph, const Parameter& p) {
  const Node* const product = p.layer_class == "Linear" ? product_by(graph, p.name) : nullptr;
  return product && product->op->is(ops::matmul) && product->attributes.integer("transpose_b") == 0;
}

double kept_before(const Graph& graph, const Parameter& p) { return kept_right_before(graph, p).share; }

int64_t dropouts_elsewhere(const Graph& graph, const std::vector<Parameter>& parameters) {
  std::set<int> met;  // masks; gradients multiply by them, too
  for (const Parameter& p : parameters)
    if (const Value mask = kept_right_before(graph, p).mask) met.insert(mask.id);
  const size_t near = met.size();
  for (int i = 0; i < graph.node_count(); ++i)
    if (const Value mask = kept_by(graph, graph.node(i)).mask) met.insert(mask.id);
  return int64_t(met.size() - near);
}

std::string weights_before(const Graph& graph, const std::string& gamma, const std::string& mean) {
  const std::vector<Value> scales = forms_of(graph, gamma), means = forms_of(graph, mean);
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    if (node.inputs.size() < 2) continue;
    const bool is_norm = node.op->is(ops::batch_norm) && std::ranges::count(scales, node.inputs[1]);
    const bool is_frozen = node.op->is(ops::sub) && std::ranges::count(means, node.inputs[1]);
    if (!is_norm && !is_frozen) continue;
    const Node& product = graph.producer(before_reshapes(graph, node.inputs[0], Shape::kMaxRank));
    if (!product.op->is(ops::matmul) && !product.op->is(ops::convolution)) return "";
    const Node& leaf = graph.producer(before_reshapes(graph, product.inputs[1], Shape::kMaxRank));
    return leaf.op->is(ops::variable) ? leaf.attributes.string("name") : "";
  }
  return "";
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

}  // namespace neon
