// ctc(z (N,T,K), labels (N,L) i32, lengths (N) i32) -> cost (N), and edit_distance(a (N,T) i32, b (N,L) i32) -> (N)
// f32; label_sequences.h says what they compute. The derivative of a cost by z is -1 times the share of the paths that
// have the class at the step:
//   ctc_grad(z, labels, lengths, g (N)) -> dz (N,T,K), 0 where no path gives the labels
#include "backends/graph/label_sequences.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

bool are_label_rows(const TensorType& x, int64_t samples) {
  return x.dtype == DType::i32 && x.shape.rank() == 2 && x.shape[0] == samples;
}

std::vector<TensorType> infer_ctc(const InferContext& c) {
  const TensorType &z = c.inputs[0], &labels = c.inputs[1];
  const int64_t samples = z.shape.rank() == 3 ? z.shape[0] : -1;
  const TensorType lengths{DType::i32, {samples}};
  if (samples < 0 || compute_type(z.dtype) != z.dtype || !are_label_rows(labels, samples) || c.inputs[2] != lengths)
    fail(ErrorKind::config, "ctc takes logarithms (N,T,K) in f32 or f64, labels (N,L) and lengths (N) in i32, got ", z,
         ", ", labels, " and ", c.inputs[2]);
  if (const int64_t blank = c.attributes.integer("blank"); blank < 0 || blank >= z.shape[2])
    fail(ErrorKind::config, "ctc of ", z.shape[2], " classes: the blank is class ", blank);
  return {{z.dtype, {samples}}};
}

std::vector<TensorType> infer_ctc_gradient(const InferContext& c) {
  const TensorType cost = infer_ctc({c.inputs.first(3), c.attributes})[0];
  if (c.inputs[3] != cost) fail(ErrorKind::config, "ctc_grad takes cotangents ", cost, ", got ", c.inputs[3]);
  return {c.inputs[0]};
}

void ctc_gradient(GradientContext& c) {
  c.results[0] = c.graph.add(ops::ctc_grad, {c.input(0), c.input(1), c.input(2), c.cotangent()}, c.node.attributes);
}

// A state for each label, and one before, between and behind them, which take three sums a step.
template <int kPasses>
double flops_of_paths(const Graph& graph, const Node& node) {
  const Shape &z = graph.shape(node.inputs[0]), &labels = graph.shape(node.inputs[1]);
  return kPasses * 6.0 * double(z[0] * z[1]) * double(2 * labels[1] + 1);
}

std::vector<TensorType> infer_edit_distance(const InferContext& c) {
  const TensorType& a = c.inputs[0];
  const int64_t samples = a.shape.rank() > 0 ? a.shape[0] : -1;
  if (!are_label_rows(a, samples) || !are_label_rows(c.inputs[1], samples))
    fail(ErrorKind::config, "edit_distance takes labels (N,T) and (N,L) in i32, got ", a, " and ", c.inputs[1]);
  return {{DType::f32, {samples}}};
}

double flops_of_distance(const Graph& graph, const Node& node) {
  return 3.0 * double(graph.shape(node.inputs[0]).elements()) * double(graph.shape(node.inputs[1])[1]);
}

const OpRegistration label_ops[] = {
    OpRegistration({ops::ctc, infer_ctc, ctc_gradient, nullptr, {}, flops_of_paths<1>}),
    OpRegistration({ops::ctc_grad, infer_ctc_gradient, nullptr, nullptr, {}, flops_of_paths<2>}),
    OpRegistration({ops::edit_distance, infer_edit_distance, nullptr, nullptr, {}, flops_of_distance}),
};

}  // namespace

Value ctc(Graph& graph, Value z, Value labels, Value lengths, int64_t blank) {
  const Shape& shape = graph.shape(z);
  if (!lengths)
    lengths = cast(graph, broadcast_to(graph, graph.constant(double(shape[1]), DType::f32), {shape[0]}), DType::i32);
  return graph.add(ops::ctc, {z, labels, lengths}, {{"blank", blank}});
}

Value edit_distance(Graph& graph, Value a, Value b) { return graph.add(ops::edit_distance, {a, b}); }

}  // namespace neon
