// Logarithms of softmax and logistic functions, computed from what those are given:
//   log softmax(x)                              ->  log_softmax(x)
//   -sum of t log softmax(x) over whole rows    ->  softmax_cross_entropy(x, t), summed over the other axes
//   -t log p - (1 - t) log(1 - p), p = logistic(x)  ->  bce_logits(x, t)
// Reshapes and transposes between the two apply to x instead, so the axis of a softmax may lie anywhere. A cast of
// 16-bit outputs to a wider type also applies to x, since the function's own result would be rounded.
#include <algorithm>
#include <map>
#include <set>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"

namespace neon {

namespace {

bool only_moves(const Op& op) { return op.is(ops::reshape) || op.is(ops::transpose); }

Value moved_again(Graph& graph, const Node& move, Value x) {
  return move.op->is(ops::reshape) ? reshape(graph, x, graph.shape(move.outputs[0]))
                                   : transpose(graph, x, move.attributes.integers("permutation"));
}

// A value and the moves that lie between it and `source`.
class Moved {
 public:
  Moved(Graph& graph, Value value) : graph_(graph), source_(value) {
    while (only_moves(*maker().op)) {
      moves_.insert(moves_.begin(), maker());
      source_ = maker().inputs[0];
    }
  }
  const Node& maker() const { return graph_.producer(source_); }
  // The same moves of x, which has the shape of the source.
  Value of(Value x) const {
    for (const Node& move : moves_) x = moved_again(graph_, move, x);
    return x;
  }
  // Whether numbers that stand side by side in the last axis of the source still do, in whatever order.
  bool keeps_rows() const {
    const Shape& shape = graph_.shape(source_);
    const int64_t rows = shape.slice(0, shape.rank() - 1).elements();
    return std::ranges::all_of(moves_,
                               [&](const Node& move) { return move.op->is(ops::reshape) || keeps(move, rows); });
  }

 private:
  // Whether a transpose leaves the axes that count the rows before those within a row.
  bool keeps(const Node& move, int64_t rows) const {
    const Shape& shape = graph_.shape(move.inputs[0]);
    int first = 0;
    for (int64_t passed = 1; passed < rows && first < shape.rank(); ++first) passed *= shape[first];
    if (shape.slice(0, first).elements() != rows) return false;
    std::vector<int64_t> axes = move.attributes.integers("permutation");
    std::erase_if(axes, [&](int64_t axis) { return shape[int(axis)] == 1; });
    return std::ranges::is_partitioned(axes, [&](int64_t axis) { return axis < first; });
  }

  Graph& graph_;
  Value source_;
  std::vector<Node> moves_;
};

// cast(softmax(x)) -> softmax(cast(x))
Value widened_before(Graph& graph, const Node& node) {
  const DType wide = DType(node.attributes.integer("dtype"));
  if (size_of(graph.dtype(node.inputs[0])) >= size_of(wide)) return {};
  const Moved moved(graph, node.inputs[0]);
  const Node maker = moved.maker();
  if (!maker.op->is(ops::softmax) && !maker.op->is(ops::logistic)) return {};
  return moved.of(graph.add(maker.op->name, {cast(graph, maker.inputs[0], wide)}));
}

Value log_of_softmax(Graph& graph, const Node& node) {
  const Moved moved(graph, node.inputs[0]);
  if (!moved.maker().op->is(ops::softmax)) return {};
  return moved.of(graph.add(ops::log_softmax, {moved.maker().inputs[0]}));
}

// How many numbers in a row a sum over these axes adds up, where they are the last ones; otherwise 0.
int64_t summed_in_a_row(const Shape& shape, const std::vector<int64_t>& axes) {
  int64_t count = 1;
  bool ended = false;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    const bool summed = std::ranges::count(axes, axis) > 0;
    if (summed && ended) return 0;
    if (summed) count *= shape[axis];
    ended = ended || !summed;
  }
  return count;
}

// sum of t · logs, logs being moved from log_softmax(x) -> -softmax_cross_entropy(x, t)
Value cross_entropy(Graph& graph, const Node& node, Value logs, Value t) {
  const Shape shape = graph.shape(node.inputs[0]);
  const Moved moved(graph, logs);
  if (!moved.maker().op->is(ops::log_softmax) || graph.shape(logs) != shape || shape.elements() == 0) return {};
  const Value x = moved.maker().inputs[0];
  const int64_t classes = graph.shape(x).back(), together = summed_in_a_row(shape, node.attributes.integers("axes"));
  if (!moved.keeps_rows() || together == 0 || together % classes) return {};
  const Shape rows{shape.elements() / classes, classes};
  Expr cost(graph, graph.add(ops::softmax_cross_entropy,
                             {reshape(graph, moved.of(x), rows), reshape(graph, broadcast_to(graph, t, shape), rows)}));
  if (together > classes) cost = sum(reshape(cost, {shape.elements() / together, together / classes}), {1});
  return -reshape(cost, graph.shape(node.outputs[0]));
}

Value weighted_logs(Graph& graph, const Node& node) {
  const Node product = graph.producer(node.inputs[0]);
  if (!product.op->is(ops::mul)) return {};
  const Value found = cross_entropy(graph, node, product.inputs[1], product.inputs[0]);
  return found ? found : cross_entropy(graph, node, product.inputs[0], product.inputs[1]);
}

Value twice_negative(Graph& graph, const Node& node) {
  const Moved moved(graph, node.inputs[0]);
  return moved.maker().op->is(ops::neg) ? moved.of(moved.maker().inputs[0]) : Value{};
}

// x of a node `op`, or nothing.
Value operand_of(const Graph& graph, Value value, OpName op, size_t operand = 0) {
  if (!value) return {};
  const Node& node = graph.producer(value);
  return node.op->is(op) ? node.inputs[operand] : Value{};
}

// x of 1 - x, or nothing.
Value subtracted_from_one(const Graph& graph, Value value) {
  const Value one = operand_of(graph, value, ops::sub);
  const bool is_one =
      one && graph.producer(one).op->is(ops::constant) && graph.producer(one).attributes.real("value") == 1;
  return is_one ? operand_of(graph, value, ops::sub, 1) : Value{};
}

// -t log p - (1 - t) log(1 - p)
Value binary_cross_entropy(Graph& graph, const Node& node) {
  const Value yes = node.inputs[0], no = node.inputs[1];
  const Value t = operand_of(graph, operand_of(graph, yes, ops::mul), ops::neg),
              p = operand_of(graph, operand_of(graph, yes, ops::mul, 1), ops::safelog);
  if (!t || !p || subtracted_from_one(graph, operand_of(graph, no, ops::mul)) != t) return {};
  if (subtracted_from_one(graph, operand_of(graph, operand_of(graph, no, ops::mul, 1), ops::safelog)) != p) return {};
  const Moved moved(graph, p);
  if (!moved.maker().op->is(ops::logistic)) return {};
  return graph.add(ops::bce_logits, {moved.of(moved.maker().inputs[0]), t});
}

// The value that takes the place of a node; an invalid one: none does.
Value better(Graph& graph, const Node& node) {
  if (node.op->is(ops::cast)) return widened_before(graph, node);
  if (node.op->is(ops::safelog)) return log_of_softmax(graph, node);
  if (node.op->is(ops::sum)) return weighted_logs(graph, node);
  if (node.op->is(ops::neg)) return twice_negative(graph, node);
  if (node.op->is(ops::sub)) return binary_cross_entropy(graph, node);
  return {};
}

bool is_of_formula(const Op& op) {
  const Fusion fusion = op.traits.fusion;
  return op.traits.moves || fusion == Fusion::elements || fusion == Fusion::view || fusion == Fusion::reduction;
}

// The nodes of the formula that ends in `value`, down to products, compound ops and whatever else has a kernel of its
// own: a net's hidden layers are no part of it.
std::set<int> formula_of(const Graph& graph, Value value) {
  std::set<int> found;
  std::vector<Value> open = {value};
  while (!open.empty()) {
    const int index = graph.producer_index(open.back());
    open.pop_back();
    const Node& node = graph.node(index);
    if (is_of_formula(*node.op) && found.insert(index).second)
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return found;
}

}  // namespace

Value on_logits(Graph& graph, Value cost) {
  std::map<Value, Value> made;
  const auto now = [&](Value value) {
    const auto found = made.find(value);
    return found == made.end() ? value : found->second;
  };
  for (const int index : formula_of(graph, cost)) {
    Node node = graph.node(index);
    for (Value& input : node.inputs) input = now(input);
    Scope scope(graph, node.scope);
    const Value found = better(graph, node);
    made[node.outputs[0]] = found ? found : graph.add(node.op->name, node.inputs, node.attributes);
  }
  return now(cost);
}

}  // namespace neon
