// The op table. An op is a name, a shape rule, a gradient rule in terms of other ops, traits for passes and devices,
// and (in backends/cpu) a plain kernel. A compound op has a definition in other ops and is one node until lowering.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/graph/graph.h"
#include "backends/graph/traits.h"

namespace neon {

namespace elementwise {
struct Row;
}

// The arguments of a shape rule.
struct InferContext {
  std::span<const TensorType> inputs;
  const Attributes& attributes;
};

// The arguments and results of a gradient rule. Cotangents that do not exist (nobody asked) are invalid Values.
class GradientContext {
 public:
  GradientContext(Graph& graph, const Node& node, std::vector<Value> cotangents, std::vector<bool> wanted)
      : graph(graph),
        node(node),
        cotangents(std::move(cotangents)),
        wanted(std::move(wanted)),
        results(node.inputs.size()) {}
  Graph& graph;
  const Node node;                      // a copy: the rule appends to the graph
  const std::vector<Value> cotangents;  // one an output
  const std::vector<bool> wanted;       // one an input
  std::vector<Value> results;           // one an input, to be set where wanted; left invalid: zero

  Value input(int i) const { return node.inputs[size_t(i)]; }
  Value output(int i = 0) const { return node.outputs[size_t(i)]; }
  Value cotangent(int i = 0) const { return cotangents[size_t(i)]; }
};

// The name of one op, for code that means this op and no other; declared in ops.h.
class OpName {
 public:
  constexpr explicit OpName(const char* name) : name_(name) {}
  constexpr operator std::string_view() const { return name_; }

 private:
  std::string_view name_;
};

struct Op {
  std::string_view name;  // once added, of the table
  std::vector<TensorType> (*infer)(const InferContext&) = nullptr;
  void (*gradient)(GradientContext&) = nullptr;                 // null: no gradient flows through
  std::vector<Value> (*define)(Graph&, const Node&) = nullptr;  // compound ops only
  OpTraits traits = {};
  double (*flops)(const Graph&, const Node&) = nullptr;  // see flops.h; null: it moves numbers, or makes them
  // Elementwise ops: the row, and the operand whose derivative it is (-1: the function itself).
  const elementwise::Row* row = nullptr;
  int derivative_operand = -1;
  bool is_elementwise() const { return row != nullptr; }
  bool is(OpName other) const { return name == std::string_view(other); }
  // A number that kernels have at hand: of the step record, or fixed.
  bool is_number() const { return traits.leaf == LeafKind::scalar || traits.leaf == LeafKind::constant; }
  // An array that the program reads and does not make.
  bool is_given_array() const { return traits.leaf == LeafKind::input || traits.leaf == LeafKind::variable; }
};

// Which of g (cotangent), a, b, c (operands), y (result) the derivative of a row by one operand takes, in order.
std::string derivative_inputs(const elementwise::Row& row, int operand);

const Op* find_op(std::string_view name);  // null when unknown
std::vector<const Op*> all_ops();
void add_op(Op op);
// Rows of the elementwise table: ops that are added when one is first asked for.
void add_elementwise_ops();

struct OpRegistration {
  explicit OpRegistration(Op op) { add_op(std::move(op)); }
};

// For gradient rules whose input was broadcast: sums the cotangent back to the shape of the input.
Value sum_to_shape(Graph& graph, Value value, const Shape& shape);

// Derivatives of sum(seed * output) with respect to `wanted`, appended to the graph; invalid Values where
// the output does not depend on one. An invalid seed means ones.
std::vector<Value> gradients(Graph& graph, Value output, std::span<const Value> wanted, Value seed = {});

// An attribute of products: 16-bit operands give f32, the type of the sums.
constexpr const char* kWide = "wide";
DType product_type(DType operands, const Attributes& attributes);

}  // namespace neon
