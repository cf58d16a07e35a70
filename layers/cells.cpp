#include "layers/cells.h"

#include "backends/graph/op.h"
#include "backends/graph/recurrent.h"
#include "layers/linear.h"
#include "transforms/parts.h"

namespace neon {

namespace {

int64_t gates_of(CellType type) { return type == CellType::lstm ? 4 : type == CellType::gru ? 3 : 1; }

// The steps of a cell share its function: a function that learns or draws would do so anew in each.
class NothingLearned : public ActivationContext {
 public:
  bool training() const override { return true; }
  Expr learned(const LearnedNumbers& numbers) override { refuse(numbers.kind, "learns"); }
  Expr draw(const std::string& name, const Shape&) override { refuse(name, "draws random"); }

 private:
  [[noreturn]] static void refuse(const std::string& activation, const char* verb) {
    fail(ErrorKind::config, activation, " ", verb, " numbers, which the steps of a recurrent layer cannot share; ",
         "give the layer another activation, or Activation: ", activation, " after it");
  }
};

// The row of the elementwise table that an activation is, if it is one whose derivative follows from its result.
std::string row_of(const Activation* activation, const std::string& otherwise) {
  if (!activation) return otherwise;
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {1, 1}));
  NothingLearned context;
  const Node& node = graph.producer(activation->apply(context, x));
  const bool is_row = node.op->is_elementwise() && node.inputs == std::vector{x.value()};
  return is_row && derives_from_result(node.op->name) ? std::string(node.op->name) : "";
}

// Functions that are any expression.
class GivenCell : public Cell {
 public:
  explicit GivenCell(const Cells& cells) : Cell(cells.reverse), cells_(cells) {}
  Expr activation(Expr x) const override {
    return of(cells_.params.activation ? &*cells_.params.activation : nullptr, "tanh", x);
  }
  Expr gate(Expr x) const override { return of(cells_.gate, "logistic", x); }

 private:
  static Expr of(const Activation* given, const char* otherwise, Expr x) {
    NothingLearned context;
    return given ? given->apply(context, x) : neon::apply(otherwise, x);
  }

  const Cells& cells_;
};

Expr biases(LayerContext& context, const Cells& cells) {
  const int64_t gates = gates_of(cells.type);
  return context.parameter({.name = cells.name + "/b",
                            .layer = context.layer + "_bias",
                            .layer_class = "Bias",
                            .shape = {gates * cells.params.output_size},
                            .initializer = cells.gate_bias     ? cells.gate_bias
                                           : cells.params.bias ? &*cells.params.bias
                                                               : nullptr,
                            .fan = {1, 1},
                            .blocks = cells.gate_bias ? 1 : gates});
}

// The weights of x and biases, or batch norm, applied to all steps at once: (N,T,G H).
Expr inputs_of_gates(LayerContext& context, const Cells& cells, Expr x) {
  const CellParams& p = cells.params;
  const bool tokens = context.are_tokens(x);
  const int64_t samples = x.shape()[0], steps = x.shape()[1], features = tokens ? context.tokens : x.shape()[2],
                gates = gates_of(cells.type), units = p.output_size;
  const Expr w = context.parameter({.name = cells.name + "/W_input",
                                    .layer = context.layer,
                                    .layer_class = "Recurrent",
                                    .shape = {gates * units, features},
                                    .initializer = &*p.init,
                                    .fan = {.in = features, .out = units, .rows = units, .columns = features},
                                    .blocks = gates,
                                    .token_axis = tokens ? 1 : -1});
  Graph& graph = context.graph;
  // The product with a vector that is 1 at a token and 0 elsewhere is a column of the weights.
  const Expr product =
      context.expr(tokens ? gather(graph, transpose(graph, w, {1, 0}), reshape(graph, x, {samples * steps}))
                          : matmul(graph, reshape(x, {samples * steps, features}), w, false, true));
  if (!cells.batch_norm) return reshape(product + biases(context, cells), {samples, steps, gates * units});
  const Expr sequence = reshape(product, {samples, steps, gates * units});
  context.mark_sequence(sequence, x);
  return batch_norm(context, sequence, cells.batch_norm, cells.name + "_bnorm");
}

// states (N,T,H) -> (N,H), the state of the step that was taken last
Expr last_step(Expr states, bool reverse) {
  const Shape& shape = states.shape();
  return reshape(part(states, 1, reverse ? 0 : shape[1] - 1), {shape[0], shape[2]});
}

}  // namespace

void check_sequence(const LayerContext& context, Expr x, const std::string& layer) {
  if (context.is_sequence(x) || context.are_tokens(x)) return;
  fail(ErrorKind::config, layer, " takes sequences (T,F), T steps of F features each; its input is ",
       context.sample_shape(x),
       ", which is no sequence. Put AsSequence before it, which makes sequences of images and features");
}

Expr states_of(LayerContext& context, const Cells& cells, Expr x) {
  const CellParams& p = cells.params;
  const int64_t samples = x.shape()[0], gates = gates_of(cells.type), units = p.output_size;
  const Expr z = inputs_of_gates(context, cells, x);
  const Made<Initializer>& inner = p.init_inner ? p.init_inner : p.init;
  const Expr w = context.parameter({.name = cells.name + "/W_recur",
                                    .layer = context.layer,
                                    .layer_class = "Recurrent",
                                    .shape = {gates * units, units},
                                    .initializer = &*inner,
                                    .fan = {.in = units, .out = units, .rows = units, .columns = units},
                                    .blocks = gates});
  Graph& graph = context.graph;
  const bool goes_on = context.goes_on || !p.reset_cells;
  const bool carries = context.passed || (goes_on && !cells.reverse);
  const auto first = [&](const char* state, DType dtype) -> Value {
    if (carries) return context.carried(cells.name + state, dtype, {samples, units});
    return broadcast_to(graph, graph.constant(0, dtype), {samples, units});
  };
  const CellState begin = {first("/h", z.dtype()),
                           cells.type == CellType::lstm ? first("/c", compute_type(z.dtype())) : Value()};
  const CellRows rows = {row_of(p.activation ? &*p.activation : nullptr, "tanh"), row_of(cells.gate, "logistic"),
                         cells.reverse};
  const bool one_node = !rows.activation.empty() && !rows.gate.empty();
  const GivenCell given(cells);
  const Value lengths = context.lengths(x);
  CellStates states;
  switch (cells.type) {
    case CellType::recurrent:
      states =
          one_node ? recurrent(graph, rows, z, w, begin, lengths) : recurrent_steps(graph, given, z, w, begin, lengths);
      break;
    case CellType::lstm:
      states = one_node ? lstm(graph, rows, z, w, begin, lengths) : lstm_steps(graph, given, z, w, begin, lengths);
      break;
    case CellType::gru:
      states = one_node ? gru(graph, rows, z, w, begin, lengths) : gru_steps(graph, given, z, w, begin, lengths);
      break;
  }
  const Expr h(graph, states.h);
  context.mark_sequence(h, x);
  if (carries) context.carry(cells.name + "/h", last_step(h, cells.reverse));
  if (carries && cells.type == CellType::lstm)
    context.carry(cells.name + "/c", last_step(context.expr(states.c), cells.reverse));
  return h;
}

}  // namespace neon
