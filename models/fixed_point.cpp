#include "models/fixed_point.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "backends/graph/ops.h"
#include "backends/graph/rewrite.h"
#include "neon/core/text.h"

namespace neon {

double FixedPoint::step() const { return std::ldexp(1, -fraction); }
double FixedPoint::largest() const { return (std::ldexp(1, bits - 1) - 1) * step(); }

std::optional<FixedPoint> read_fixed_point(const std::string& written, int most) {
  FixedPoint out;
  const char *const begin = written.data(), *const end = begin + written.size();
  const auto whole = std::from_chars(begin, end, out.bits);
  if (whole.ec != std::errc() || whole.ptr == end || *whole.ptr != '.') return {};
  const auto behind = std::from_chars(whole.ptr + 1, end, out.fraction);
  if (behind.ec != std::errc() || behind.ptr != end) return {};
  if (out.bits < 2 || out.bits > most || out.fraction < 0 || out.fraction >= out.bits) return {};
  return out;
}

std::string expected_fixed_point(int most) {
  return text("expected BITS.FRACTION, 2 to ", most, " bits of which fewer are behind the point, as in 16.12");
}

namespace {

// Nodes that an assignment or the output `y` depends on.
std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> out(size_t(graph.node_count()));
  const auto mark = [&](Value value) { out[size_t(graph.producer_index(value))] = true; };
  for (const Assignment& a : graph.assignments()) mark(a.value);
  if (const auto y = graph.outputs().find("y"); y != graph.outputs().end()) mark(y->second);
  for (int i = graph.node_count() - 1; i >= 0; --i)
    if (out[size_t(i)])
      for (Value input : graph.node(i).inputs)
        if (input) mark(input);
  return out;
}

bool is_single(const Graph& graph, Value value) { return graph.shape(value).elements() == 1; }

// Whether the node multiplies operand k by a number, or divides it.
bool scales(const Graph& graph, const Node& node, size_t k) {
  if (node.op->is(ops::mul)) return is_single(graph, node.inputs[1 - k]);
  return node.op->is(ops::div) && k == 0 && is_single(graph, node.inputs[1]);
}

// Sums with no use but multiples of them, so that only a multiple is a result.
std::vector<bool> scaled_sums(const Graph& graph) {
  std::vector<bool> out(size_t(graph.node_count()));
  const auto clear = [&](Value value) { out[size_t(graph.producer_index(value))] = false; };
  for (int i = 0; i < graph.node_count(); ++i) out[size_t(i)] = graph.node(i).op->traits.reduction == Reduction::sum;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] && !scales(graph, node, k)) clear(node.inputs[k]);
  }
  for (const Assignment& a : graph.assignments()) clear(a.value);
  for (const auto& [name, value] : graph.outputs()) clear(value);
  return out;
}

bool is_one_of(const Op& op, std::span<const OpName> names) {
  return std::ranges::any_of(names, [&](OpName name) { return op.is(name); });
}

bool moves_numbers(const OpTraits& traits) {
  return traits.moves || traits.fusion == Fusion::view || traits.fusion == Fusion::slice ||
         traits.fusion == Fusion::rows;
}

// Whether results are whole numbers where all operands are.
bool keeps_whole(const Op& op) {
  static constexpr OpName names[] = {ops::add,     ops::sub,  ops::mul,      ops::neg,       ops::maximum,
                                     ops::minimum, ops::cast, ops::identity, ops::broadcast, ops::select};
  const Reduction folds = op.traits.reduction;
  return folds == Reduction::sum || folds == Reduction::max || folds == Reduction::min || moves_numbers(op.traits) ||
         is_one_of(op, names);
}

// Nodes that make masks, counts and places of integers and comparisons.
std::vector<bool> whole_numbers(const Graph& graph) {
  static constexpr OpName comparisons[] = {ops::equal,      ops::not_equal, ops::less,
                                           ops::less_equal, ops::greater,   ops::greater_equal};
  std::vector<bool> out(size_t(graph.node_count()));
  const auto is_whole = [&](Value value) {
    return !value || !is_floating(graph.dtype(value)) || out[size_t(graph.producer_index(value))];
  };
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    if (node.op->is(ops::constant)) {
      const double number = node.attributes.real("value");
      out[size_t(i)] = std::rint(number) == number;
    } else
      out[size_t(i)] =
          is_one_of(*node.op, comparisons) || (keeps_whole(*node.op) && std::ranges::all_of(node.inputs, is_whole));
  }
  return out;
}

class Rounding {
 public:
  Rounding(const Graph& graph, FixedPoint format)
      : graph_(graph),
        format_(format),
        needed_(needed_nodes(graph)),
        scaled_sums_(scaled_sums(graph)),
        whole_(whole_numbers(graph)) {}

  // The results in place of a node's, whose operands are values of `to`; none where it stays as it is.
  std::vector<Value> operator()(Graph& to, Node node) const {
    const OpTraits& traits = node.op->traits;
    const auto index = size_t(graph_.producer_index(node.outputs[0]));
    if (traits.leaf != LeafKind::none || !needed_[index]) return {};
    // The samples of a batch are rounded once they are taken from all.
    if (!moves_numbers(traits))
      for (Value& input : node.inputs)
        if (input && to.producer(input).op->is_given_array()) input = rounded(to, input);
    std::vector<Value> out = to.add_all(node.op->name, node.inputs, node.attributes);
    if (traits.fusion == Fusion::source || traits.draws || whole_[index] || scaled_sums_[index]) return out;
    const size_t results = node.op->define ? 1 : out.size();
    for (size_t k = 0; k < results; ++k) out[k] = rounded(to, out[k]);
    return out;
  }

 private:
  Value rounded(Graph& to, Value value) const {
    const DType dtype = to.dtype(value);
    // In a net in f32, tokens, labels and counts that ranks exchange are f64.
    if (!is_floating(dtype) || dtype == DType::f64 || is_single(to, value)) return value;
    return to.add(ops::as_fixed, {value, to.constant(format_.step(), dtype), to.constant(format_.largest(), dtype)});
  }

  const Graph& graph_;
  const FixedPoint format_;
  const std::vector<bool> needed_, scaled_sums_, whole_;
};

}  // namespace

Graph with_fixed_point(const Graph& graph, FixedPoint format) { return rewritten(graph, Rounding(graph, format)); }

}  // namespace neon
