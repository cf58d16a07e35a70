// Layers of recurrent cells over the steps of sequences, from the first step to the last. The state begins at 0, or
// goes on from the batch before.
#include "layers/cells.h"

namespace neon {

namespace {

struct Recurrent : Parametrized<Layer, CellParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "Recurrent");
    return states_of(context, {CellType::recurrent, params, nullptr, context.layer}, x);
  }
  bool takes_tokens() const override { return true; }
};
NEON_REGISTER(
    Layer, Recurrent,
    "A recurrent layer over sequences (T,F): h = activation(W_input x + W_recur h + b) for each step, h being "
    "the state of the step before, at first 0.",
    {"RNN"});

template <CellType type>
struct Gated : Parametrized<Layer, GatedCellParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, type == CellType::lstm ? "LSTM" : "GRU");
    const Activation* gate = params.gate_activation ? &*params.gate_activation : nullptr;
    return states_of(context, {type, params, gate, context.layer}, x);
  }
  bool takes_tokens() const override { return true; }
};
const Registration<Layer, Gated<CellType::lstm>> lstm_registration{
    "LSTM",
    "Long short-term memory over sequences (T,F). The rows of W_input, W_recur and b are of the gates i, f, o, g, in "
    "this order; c = f c + i g, h = o activation(c). No peepholes; c and h begin at 0.",
    {}};
const Registration<Layer, Gated<CellType::gru>> gru_registration{
    "GRU",
    "Gated recurrent unit over sequences (T,F). The rows of W_input, W_recur and b are of the gates r, z, n, in this "
    "order; n = activation(W_input x + W_recur (r h) + b), h = (1 - z) h + z n. The state begins at 0.",
    {}};

}  // namespace

}  // namespace neon
