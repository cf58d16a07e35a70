// Statistics from as few readings of an array as are exact.
#include "backends/graph/statistics.h"

#include <algorithm>

#include "backends/graph/op.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

constexpr int kMostMade = 6;         // nodes of an array's elements that are made again for those of one row
constexpr size_t kMostBefore = 256;  // nodes that are looked at before a product

// The second reading corrects both (Chan, Golub and LeVeque 1983, the corrected two-pass algorithm).
Statistics after_one_another(Expr x, const std::vector<int64_t>& axes) {
  Expr average = mean(x, axes);
  Expr distance = x - average;
  Expr rest = mean(distance, axes);
  return {average, maximum(mean(square(distance), axes) - square(rest), 0), rest};
}

// Whether a node adds one number a channel to a product, whose kernel then does so.
bool adds_bias(const Graph& graph, const Node& node) {
  if (!node.op->is(ops::add)) return false;
  const Shape& made = graph.shape(node.outputs[0]);
  for (size_t k : {0, 1}) {
    const Value product = node.inputs[k], bias = node.inputs[1 - k];
    if (graph.producer(product).op->traits.takes_bias && graph.shape(product) == made && made.back() > 1 &&
        graph.shape(bias).elements() == made.back() && graph.shape(bias).back() == made.back())
      return true;
  }
  return false;
}

// Whether the kernel of a product ends with what the node makes: a bias, a relu.
bool ends_product(const Graph& graph, const Node& node) {
  if (adds_bias(graph, node)) return true;
  if (!node.op->is(ops::relu)) return false;
  const Node& before = graph.producer(node.inputs[0]);
  return before.op->traits.takes_relu || adds_bias(graph, before);
}

// Whether a kernel that fuses nothing follows from `value` and leads to `to`.
bool leads_through_kernel(const Graph& graph, Value value, Value to) {
  std::vector<std::pair<int, bool>> open = {{graph.producer_index(to), false}};
  for (size_t i = 0; i < open.size() && open.size() < kMostBefore; ++i) {
    const auto [n, through] = open[i];
    if (n == graph.producer_index(value) && through) return true;
    if (n <= graph.producer_index(value)) continue;
    const bool kernel = through || graph.node(n).op->traits.fusion == Fusion::never;
    for (Value input : graph.node(n).inputs)
      if (const std::pair next{graph.producer_index(input), kernel}; !std::ranges::count(open, next))
        open.push_back(next);
  }
  return false;
}

// One number of each statistic: of each channel, the last axis, or of each channel of each sample. A kernel that reads
// x reads arrays in memory, and makes x of them; of these a row of numbers is cut out, and x's are made again.
class RowOfNumbers {
 public:
  RowOfNumbers(Expr x, const Shape& shape, int64_t row)
      : graph_(x.graph()),
        shape_(shape),
        count_(x.shape().elements()),
        row_(row),
        axis_(shape[0] == x.shape()[0] ? 1 : 0) {}

  // Nothing where this would take another kernel.
  Expr of(Value x) {
    const Node& node = graph_.producer(x);
    if (node.op->is(ops::cast)) return cast_of(node);
    if (node.op->traits.fusion == Fusion::view) return of(node.inputs[0]);
    if (ends_product(graph_, node)) return cut(x);
    if (node.op->is_elementwise()) return made(node);
    return node.op->traits.fusion == Fusion::never || node.op->is_given_array() ? cut(x) : Expr();
  }
  // Whether it lies in memory and no relu made it.
  bool is_plain() const { return made_ == 0 && !graph_.producer(cut_).op->is(ops::relu); }

 private:
  Expr cast_of(const Node& node) {
    const Expr before = of(node.inputs[0]);
    return before.value() ? cast(before, graph_.dtype(node.outputs[0])) : Expr();
  }

  Expr cut(Value x) {
    cut_ = x;
    std::vector<int64_t> rows(shape_.begin(), shape_.end());
    rows[size_t(axis_)] = count_ / shape_.elements();
    return {graph_, graph_.add("slice", {reshape(graph_, x, Shape(rows))},
                               {{"axis", int64_t(axis_)}, {"first", row_}, {"count", int64_t(1)}})};
  }

  // Whether an operand has one number for all, or one for each channel.
  bool repeats(Value operand) const {
    const Shape& of = graph_.shape(operand);
    return of.elements() == 1 ||
           (of.rank() <= shape_.rank() && of.elements() == shape_.back() && of.back() == shape_.back());
  }

  // Whether another operand of the node is the result of a kernel before which this one must be in memory.
  bool lies_beside(const Node& node, Value operand) const {
    return std::ranges::any_of(node.inputs, [&](Value other) {
      return other != operand && graph_.shape(other).elements() == count_ &&
             leads_through_kernel(graph_, operand, other);
    });
  }

  Expr made(const Node& node) {
    if (made_++ == kMostMade) return {};
    std::vector<Value> inputs;
    for (Value operand : node.inputs) {
      const bool array = graph_.shape(operand).elements() == count_;
      if (!array && !repeats(operand)) return {};
      const Expr row = !array ? Expr(graph_, operand) : lies_beside(node, operand) ? cut(operand) : of(operand);
      if (!row.value()) return {};
      inputs.push_back(row);
    }
    return {graph_, graph_.add(node.op->name, std::move(inputs), node.attributes)};
  }

  Graph& graph_;
  const Shape shape_;
  const int64_t count_, row_;
  const int axis_;
  int made_ = 0;
  Value cut_;
};

// A number of each statistic near most others: the middle one of three, so that one outlier costs no digits. An array
// in memory gives its first one, since a kernel of a convolution may fold its result less that (folds.h). Nothing where
// a number would take another kernel.
Expr near_most(Expr x, const Shape& shape) {
  RowOfNumbers first(x, shape, 0);
  const Expr a = first.of(x);
  const bool of_channels = shape.elements() == shape.back();
  if (!a.value() || (of_channels && first.is_plain())) return a;
  const int64_t rows = x.shape().elements() / shape.elements();
  const Expr b = RowOfNumbers(x, shape, rows / 3).of(x), c = RowOfNumbers(x, shape, rows * 2 / 3).of(x);
  return maximum(minimum(a, b), minimum(maximum(a, b), c));
}

// All from sums that one reading of x makes, of differences from a number near most of them (Chan, Golub and LeVeque
// 1983, shifted data): cancellation costs the variance eps (average - near)^2. The rest is the rounding error of near +
// offset (Dekker 1971).
Statistics at_once(Expr x, Expr near, const std::vector<int64_t>& axes) {
  Expr shifted = x - near;
  Expr offset = mean(shifted, axes);
  Expr average = near + offset;
  return {average, maximum(mean(square(shifted), axes) - square(offset), 0), offset - (average - near)};
}

// Whether there is a number for each channel, or for each channel of each sample, and one reading is worth a cut.
bool is_worth_cuts(const Shape& x, const Shape& shape) {
  if (shape.rank() == 0 || shape.elements() == 0 || shape.back() != x.back()) return false;
  if (shape.elements() == shape.back()) return x.elements() >= kManyRows * shape.elements();
  return shape.elements() == x[0] * shape.back() && shape[0] == x[0] && x.elements() > shape.elements();
}

}  // namespace

Statistics statistics(Expr x, const Shape& shape, const std::vector<int64_t>& axes) {
  const Expr near = is_worth_cuts(x.shape(), shape) ? near_most(x, shape) : Expr();
  return near.value() ? at_once(x, cast(near, x.dtype()), axes) : after_one_another(x, axes);
}

}  // namespace neon
