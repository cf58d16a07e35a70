// Layers of recurrent cells over the steps of sequences, from the first step to the last. The state begins at 0 in each
// batch.
#include "layers/cells.h"

namespace neon {

namespace {

struct Recurrent : Parametrized<Layer, CellParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "Recurrent");
    return states_of(context, {CellType::recurrent, params, nullptr, context.layer}, x);
  }
};
NEON_REGISTER(
    Layer, Recurrent,
    "A recurrent layer over sequences (T,F): h = activation(W_input x + W_recur h + b) for each step, h being "
    "the state of the step before, at first 0.",
    {"RNN"});

struct Lstm : Parametrized<Layer, GatedCellParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "LSTM");
    const Activation* gate = params.gate_activation ? &*params.gate_activation : nullptr;
    return states_of(context, {CellType::lstm, params, gate, context.layer}, x);
  }
};
const Registration<Layer, Lstm> lstm_registration{
    "LSTM",
    "Long short-term memory over sequences (T,F). Gates i, f, o, g in this order of the rows of W_input, W_recur and "
    "b; "
    "c = f c + i g, h = o activation(c). No peepholes; c and h begin at 0.",
    {}};

struct Gru : Parametrized<Layer, GatedCellParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "GRU");
    const Activation* gate = params.gate_activation ? &*params.gate_activation : nullptr;
    return states_of(context, {CellType::gru, params, gate, context.layer}, x);
  }
};
const Registration<Layer, Gru> gru_registration{
    "GRU",
    "Gated recurrent unit over sequences (T,F). Gates r, z, n in this order of the rows of W_input, W_recur and b; n = "
    "activation(W_input x + W_recur (r h) + b), h = (1 - z) h + z n. The state begins at 0.",
    {}};

}  // namespace

}  // namespace neon
