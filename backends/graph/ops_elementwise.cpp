// Elementwise ops: one per row of the table, and one per derivative that a row gives ("relu'0": the
// cotangent times d relu / d operand 0). Operands broadcast by NumPy's rule. Casts and broadcasts too.
#include <algorithm>

#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

// Tensors decide the type; scalars adapt to them, among themselves to the widest. Integers count as f32.
DType result_dtype(std::span<const TensorType> inputs) {
  DType found = DType::f32;
  int found_rank = -1;
  for (const TensorType& input : inputs) {
    if (!is_floating(input.dtype)) continue;
    const int rank = input.shape.rank() > 0 ? 1 : 0;
    if (rank == found_rank && found != input.dtype) {
      if (rank > 0) fail(ErrorKind::config, "element types ", found, " and ", input.dtype, " meet without a cast");
      found = found == DType::f64 || input.dtype == DType::f64 ? DType::f64 : DType::f32;
    }
    if (rank > found_rank) found = input.dtype, found_rank = rank;
  }
  return found;
}

std::vector<TensorType> infer_elementwise(const InferContext& c) {
  Shape shape;
  for (const TensorType& input : c.inputs) shape = broadcast(shape, input.shape);
  return {{result_dtype(c.inputs), shape}};
}

// The gradient of a row: cotangent g, inputs a, b, c, output y. The derivative's op takes the ones that its text names.
void elementwise_gradient(GradientContext& c) {
  const elementwise::Row& row = *c.node.op->row;
  for (int i = 0; i < row.arity; ++i) {
    if (!c.wanted[size_t(i)] || !row.derivatives[i]) continue;
    // The derivative of a sum is the cotangent itself.
    const bool passes = std::string_view(row.derivatives[i]) == "g";
    std::vector<Value> operands;
    for (char name : derivative_inputs(row, i))
      operands.push_back(name == 'g' ? c.cotangent() : name == 'y' ? c.output() : c.input(name - 'a'));
    Value d = passes ? c.cotangent() : c.graph.add(text(row.name, "'", i), operands);
    // A derivative that needs no full-size operand still has the cotangent's shape.
    d = sum_to_shape(c.graph, broadcast_to(c.graph, d, c.graph.shape(c.output())), c.graph.shape(c.input(i)));
    c.results[size_t(i)] = cast(c.graph, d, c.graph.dtype(c.input(i)));
  }
}

std::vector<TensorType> infer_cast(const InferContext& c) {
  return {{DType(c.attributes.integer("dtype")), c.inputs[0].shape}};
}
void cast_gradient(GradientContext& c) { c.results[0] = cast(c.graph, c.cotangent(), c.graph.dtype(c.input(0))); }

std::vector<TensorType> infer_broadcast(const InferContext& c) {
  const Shape to(c.attributes.integers("shape"));
  if (broadcast(c.inputs[0].shape, to) != to)
    fail(ErrorKind::config, "shape ", c.inputs[0].shape, " does not broadcast to ", to);
  return {{c.inputs[0].dtype, to}};
}
void broadcast_gradient(GradientContext& c) {
  c.results[0] = sum_to_shape(c.graph, c.cotangent(), c.graph.shape(c.input(0)));
}

// Whether a cast is cheap to repeat depends on its types, see fuse_remake.cpp.
const OpRegistration cast_op(
    {ops::cast, infer_cast, cast_gradient, nullptr, {.fusion = Fusion::elements, .exact = true}});
const OpRegistration broadcast_op({ops::broadcast,
                                   infer_broadcast,
                                   broadcast_gradient,
                                   nullptr,
                                   {.fusion = Fusion::elements, .exact = true, .cheap = true}});

// Rows of a few instructions, and of an exponential and a division, as most activations are: fewer than it takes to
// store a result and to read it.
bool is_cheap(std::string_view row) {
  static constexpr std::string_view cheap[] = {
      "add",     "sub",    "mul",  "neg",       "square", "equal",        "minimum",
      "maximum", "select", "relu", "relu_clip", "clip",   "hard_sigmoid", "leaky_relu",
      "exp",     "elu",    "tanh", "logistic",  "swish",  "gelu",         "gelu_tanh"};
  return std::ranges::find(cheap, row) != std::end(cheap);
}

// The same of derivatives.
bool has_cheap_derivatives(std::string_view row) {
  static constexpr std::string_view cheap[] = {"mul",      "relu",  "relu_clip", "leaky_relu", "tanh",
                                               "logistic", "swish", "gelu",      "gelu_tanh",  "elu"};
  return std::ranges::find(cheap, row) != std::end(cheap);
}

// Rows whose results are the same in every arithmetic.
bool is_exact(std::string_view row) {
  static constexpr std::string_view exact[] = {
      "as_bf16", "as_f16",     "as_f32",  "identity",      "neg",       "abs",    "sign",
      "minimum", "maximum",    "clip",    "rint",          "floor",     "equal",  "not_equal",
      "less",    "less_equal", "greater", "greater_equal", "is_finite", "select", "relu"};
  return std::ranges::find(exact, row) != std::end(exact);
}

// A logarithm, an exponential and products, which are more than kernels take along for nothing.
double flops_of_power(const Graph& graph, const Node& node) { return 4 * flops_along(graph, node); }

}  // namespace

void add_elementwise_ops() {
  for (const elementwise::Row& row : elementwise::rows()) {
    bool differentiable = false;
    for (int i = 0; i < row.arity; ++i) {
      if (!row.derivatives[i]) continue;
      differentiable = true;
      add_op({text(row.name, "'", i),
              infer_elementwise,
              nullptr,
              nullptr,
              {.fusion = Fusion::elements, .cheap = has_cheap_derivatives(row.name)},
              flops_along,
              &row,
              i});
    }
    const OpTraits traits{.fusion = Fusion::elements, .exact = is_exact(row.name), .cheap = is_cheap(row.name)};
    const auto flops = row.name == std::string_view(ops::pow) ? flops_of_power : flops_along;
    add_op(
        {row.name, infer_elementwise, differentiable ? elementwise_gradient : nullptr, nullptr, traits, flops, &row});
  }
}

std::string derivative_inputs(const elementwise::Row& row, int operand) {
  std::string out;
  for (int bit = 0; bit < 5; ++bit)
    if (row.reads[operand] & (1u << bit)) out += "gabcy"[bit];
  return out;
}

}  // namespace neon
