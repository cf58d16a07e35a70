// Batch norm of an evaluation multiplies each feature by a number and adds another, and both follow from variables:
//   ((x * w) - m) * s + b  =  x * (w s) + (b - m s)
// So the weights are multiplied instead, once after each change of the variables, and the rest is a bias, which the
// product's kernel adds. The product is rounded to its type after the bias rather than before, and loses no more.
#include <algorithm>
#include <map>
#include <optional>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"

namespace neon {

namespace {

bool multiplies(const Node& node) { return node.op->is(ops::mul) || node.op->is(ops::div); }

bool is_product(const Node& node) {
  return node.op->traits.convolution == ConvolutionKind::forward || node.op->traits.product == ProductKind::matrices;
}

// The axis of a product's weights that has its features.
int feature_axis(const Node& product, const Shape& weights) {
  const bool rows =
      product.op->traits.convolution == ConvolutionKind::forward || product.attributes.integer("transpose_b");
  return rows ? 0 : weights.rank() - 1;
}

// Finds products of weights that are not trained here, and behind them chains of ops, each read by the next alone,
// that multiply each feature by a number or add one.
class Chains {
 public:
  explicit Chains(const Graph& graph) : graph_(graph), uses_(size_t(graph.value_count())) {
    for (const Assignment& a : graph.assignments()) use(a.value, -1), use(a.guard, -1);
    for (const auto& [name, value] : graph.outputs()) use(value, -1);
    const std::vector<bool> live = live_nodes(graph);
    for (int n = 0; n < graph.node_count(); ++n) {
      fixed_.push_back(is_fixed(graph.node(n)));
      of_variables_.push_back(follows_from_variables(graph.node(n)));
      for (Value input : graph.node(n).inputs)
        if (live[size_t(n)]) use(input, n);
    }
  }

  // The nodes behind a product that can be folded into its weights: up to the last that has the product's type, if one
  // of them multiplies.
  std::vector<int> behind(int product) const {
    const Node& node = graph_.node(product);
    if (!is_product(node) || fixed(node.inputs[0]) || !are_weights(node.inputs[1])) return {};
    std::vector<int> chain;
    size_t length = 0;
    bool scales = false;
    Value at = node.outputs[0];
    while (const std::optional<int> next = next_of(at)) {
      chain.push_back(*next);
      at = graph_.node(*next).outputs[0];
      scales = scales || multiplies(graph_.node(*next));
      if (scales && graph_.dtype(at) == graph_.dtype(node.outputs[0])) length = chain.size();
    }
    chain.resize(length);
    return chain;
  }

 private:
  void use(Value value, int node) {
    if (value) uses_[size_t(value.id)].push_back(node);
  }

  bool fixed(Value value) const { return fixed_[size_t(graph_.producer_index(value))]; }

  // Whether its result follows from variables that this graph does not write, element by element.
  bool is_fixed(const Node& node) const {
    const OpTraits& traits = node.op->traits;
    if (traits.leaf != LeafKind::none)
      return traits.leaf == LeafKind::constant ||
             (traits.leaf == LeafKind::variable && !graph_.is_assigned(node.outputs[0]));
    const bool simple = traits.fusion == Fusion::view || (traits.fusion == Fusion::elements && !traits.draws);
    return simple && std::ranges::all_of(node.inputs, [&](Value input) { return fixed(input); });
  }

  bool follows_from_variables(const Node& node) const {
    return node.op->traits.leaf == LeafKind::variable || std::ranges::any_of(node.inputs, [&](Value input) {
             return of_variables_[size_t(graph_.producer_index(input))];
           });
  }

  // Numbers that are there before any run: of variables, or a constant. Arrays made of constants have no memory.
  bool can_be_kept(Value value) const {
    const size_t maker = size_t(graph_.producer_index(value));
    return fixed_[maker] && (of_variables_[maker] || graph_.node(int(maker)).op->traits.leaf == LeafKind::constant);
  }

  // A variable, in another type or shape perhaps. Weights that are computed, such as signs, have products of their own;
  // so have those of two casts, since the kernel that makes a kept value does not round within itself.
  bool are_weights(Value value) const {
    const Node* maker = &graph_.producer(value);
    int casts = 0;
    while (maker->op->is(ops::cast) || maker->op->traits.fusion == Fusion::view) {
      casts += maker->op->is(ops::cast);
      maker = &graph_.producer(maker->inputs[0]);
    }
    return casts <= 1 && maker->op->traits.leaf == LeafKind::variable && fixed(value);
  }

  // The node that alone reads a value, if it only changes the type, or multiplies or adds a number of each feature.
  std::optional<int> next_of(Value value) const {
    const auto& uses = uses_[size_t(value.id)];
    if (uses.size() != 1 || uses[0] < 0) return {};
    const Node& node = graph_.node(uses[0]);
    const TensorType& type = graph_.type(node.outputs[0]);
    if (type.shape != graph_.shape(value) || !is_floating(type.dtype)) return {};
    if (node.op->is(ops::cast)) return node.attributes.has("copy") ? std::nullopt : std::optional(uses[0]);
    if (!multiplies(node) && !node.op->is(ops::add) && !node.op->is(ops::sub)) return {};
    const bool first = node.inputs[0] == value, either = node.op->is(ops::mul) || node.op->is(ops::add);
    if (!first && !either) return {};
    const Value other = node.inputs[first ? 1 : 0];
    const Shape& shape = graph_.shape(other);
    const bool of_features = shape.rank() > 0 && shape.elements() == shape.back() && shape.back() == type.shape.back();
    return can_be_kept(other) && (of_features || shape.elements() == 1) ? std::optional(uses[0]) : std::nullopt;
  }

  const Graph& graph_;
  std::vector<std::vector<int>> uses_;      // by value, the nodes that read it; -1: the caller
  std::vector<bool> fixed_, of_variables_;  // by node
};

// Adds to a graph what is made once after each change of the variables, in the type of the arithmetic.
class KeptValues {
 public:
  KeptValues(Graph& graph, DType arithmetic) : graph_(graph), arithmetic_(arithmetic) {}

  Value row(std::string_view name, std::vector<Value> inputs) {
    return graph_.add(name, std::move(inputs), {{kKept, int64_t(1)}});
  }

  Value in_type(Value value, DType dtype) {
    if (graph_.dtype(value) == dtype) return value;
    return graph_.add(ops::cast, {value}, {{"dtype", int64_t(dtype)}, {kKept, int64_t(1)}});
  }

  // A value of the graph that follows from variables, made in this way.
  Value copy(Value value) { return in_type(copy_as_it_is(value), arithmetic_); }

  // The same of one number or of those of the features, (K).
  Value copy_of_features(Value value) {
    const Shape& shape = graph_.shape(value);
    const Value made = copy_as_it_is(value);
    return in_type(shape.rank() > 1 ? shaped(made, {shape.elements()}) : made, arithmetic_);
  }

  Value one() { return graph_.constant(1, arithmetic_); }

 private:
  Value copy_as_it_is(Value value) {
    const Node node = graph_.producer(value);
    if (node.op->traits.leaf != LeafKind::none) return value;
    std::vector<Value> inputs;
    for (Value input : node.inputs) inputs.push_back(copy_as_it_is(input));
    if (node.op->traits.fusion == Fusion::view) return shaped(inputs[0], graph_.shape(value));
    return graph_.add(node.op->name, inputs, node.attributes.with(kKept, int64_t(1)));
  }

  // A single number that is computed has no view, see is_view(): what has another shape is computed and kept as well.
  Value shaped(Value value, const Shape& shape) {
    if (shape.elements() != 1 || !graph_.producer(value).attributes.has(kKept)) return reshape(graph_, value, shape);
    const std::vector<int64_t> sizes(shape.begin(), shape.end());
    return graph_.add(ops::reshape, {value}, {{"shape", sizes}, {kKept, int64_t(1)}});
  }

  Graph& graph_;
  DType arithmetic_;
};

// All that a chain does: multiply by `scale`, then add `shift`. Where these are not set, there is nothing to do.
struct ScaleAndShift {
  KeptValues& kept;
  Value scale = {}, shift = {};

  void follow(const Op& op, Value other) {
    const auto after = [&](Value value) { return kept.row(op.name, {value, other}); };
    if (op.is(ops::add) || op.is(ops::sub)) {
      shift = shift ? after(shift) : op.is(ops::sub) ? kept.row(ops::neg, {other}) : other;
      return;
    }
    scale = scale ? after(scale) : op.is(ops::div) ? after(kept.one()) : other;
    if (shift) shift = after(shift);
  }
};

// A product and the nodes behind it, with operands of the new graph.
struct Folding {
  Node product;
  std::vector<Node> chain;

  Value add_to(Graph& graph) const {
    const Value weights = product.inputs[1];
    const TensorType type = graph.type(weights);
    KeptValues kept(graph, compute_type(type.dtype));
    ScaleAndShift all{kept};
    for (const Node& node : chain)
      if (!node.op->is(ops::cast)) all.follow(*node.op, kept.copy_of_features(node.inputs[1]));
    const Node& maker = graph.producer(weights);
    const bool rounded = maker.op->is(ops::cast) && is_floating(graph.dtype(maker.inputs[0]));
    Value scale = all.scale;
    if (graph.shape(scale).elements() > 1) {
      std::vector<int64_t> wide(size_t(type.shape.rank()), 1);
      wide[size_t(feature_axis(product, type.shape))] = graph.shape(scale).elements();
      scale = reshape(graph, scale, Shape(wide));
    }
    const Value scaled = kept.row(ops::mul, {kept.copy(rounded ? maker.inputs[0] : weights), scale});
    const Value y =
        graph.add(product.op->name, {product.inputs[0], kept.in_type(scaled, type.dtype)}, product.attributes);
    return all.shift ? graph.add(ops::add, {y, kept.in_type(all.shift, graph.dtype(y))}) : y;
  }
};

}  // namespace

Graph with_folded_scales(const Graph& graph) {
  const Chains chains(graph);
  const std::vector<bool> live = live_nodes(graph);
  std::map<int, int> product_of;  // by node of a chain, and of a product
  std::map<int, size_t> lengths;  // by product
  for (int n = 0; n < graph.node_count(); ++n) {
    const std::vector<int> chain = live[size_t(n)] ? chains.behind(n) : std::vector<int>{};
    if (chain.empty()) continue;
    lengths[n] = chain.size(), product_of[n] = n;
    for (int member : chain) product_of[member] = n;
  }
  if (lengths.empty()) return graph;
  std::map<int, Folding> foldings;
  const Graph folded = rewritten(graph, [&](Graph& to, Node node) {
    std::vector<Value> out;
    const int n = graph.producer_index(node.outputs[0]);
    const auto found = product_of.find(n);
    if (found == product_of.end()) return out;
    const int product = found->second;
    Folding& folding = foldings[product];
    if (n == product) {
      folding.product = node;
      return out;
    }
    const std::vector<Value>& inputs = graph.node(n).inputs;
    const Value before = (folding.chain.empty() ? folding.product : folding.chain.back()).outputs[0];
    if (inputs.size() > 1 && inputs[0] != before) std::swap(node.inputs[0], node.inputs[1]);
    folding.chain.push_back(node);
    if (folding.chain.size() == lengths[product]) out = {folding.add_to(to)};
    return out;
  });
  return rewritten(folded, [](Graph&, const Node&) { return std::vector<Value>{}; });  // without what was folded
}

}  // namespace neon
