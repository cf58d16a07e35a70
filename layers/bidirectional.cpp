// Layers of recurrent cells that read sequences in both directions: the states from the first step on and those from
// the last step back, side by side.
#include "layers/cells.h"
#include "layers/default_init.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct Directions {
  int64_t depth = 1;
  bool split_inputs = false, bi_sum = false;
  BatchNormChoice batch_norm = {};
};

// x (N,T,F) -> (N,T,H) of a half of its features: the first for 0, the second for 1.
Expr half(LayerContext& context, Expr x, int64_t which) {
  const int64_t count = x.shape()[2] / 2;
  if (2 * count != x.shape()[2])
    fail(ErrorKind::config, "split_inputs is for the two halves of a layer that reads both directions; the input has ",
         x.shape()[2], " features, which is odd");
  const Expr y = part(x, 2, which * count, count);
  context.mark_sequence(y, x);
  return y;
}

// A layer of both directions. The halves of y (N,T,2 H) are the states; with bi_sum y (N,T,H) is their sum.
Expr both(LayerContext& context, const Cells& cells, const Directions& how, Expr x, bool split) {
  Cells forward = cells, backward = cells;
  forward.name += "_forward";
  backward.name += "_backward";
  backward.reverse = true;
  const Expr a = states_of(context, forward, split ? half(context, x, 0) : x);
  const Expr b = states_of(context, backward, split ? half(context, x, 1) : x);
  const Expr y = how.bi_sum ? a + b : beside({a, b}, 2);
  context.mark_sequence(y, x);
  return y;
}

Expr stacked(LayerContext& context, const Cells& cells, const Directions& how, Expr x) {
  for (int64_t i = 0; i < how.depth; ++i) {
    Cells layer = cells;
    if (how.depth > 1) layer.name += text("_", i + 1);
    layer.batch_norm = how.batch_norm;
    x = both(context, layer, how, x, how.split_inputs && i == 0);
  }
  return x;
}

constexpr const char* kSplitInputs =
    "Whether each direction reads its own half of the features, those that the layer before gave it.";
constexpr const char* kDepth = "Layers of both directions, one on the other.";
constexpr const char* kBiSum = "Whether the states of both directions are added instead of put side by side.";

template <typename Base>
struct BiParams : Base {
  bool split_inputs = false;
  static void describe(auto&& p) {
    Base::describe(p);
    p("split_inputs", &BiParams::split_inputs, kSplitInputs);
  }
};

template <typename Base>
struct DeepParams : Base {
  int64_t depth = 1;
  BatchNormChoice batch_norm;
  bool bi_sum = false;
  static void describe(auto&& p) {
    Base::describe(p);
    p("depth", &DeepParams::depth, kDepth, at_least(1));
    p("batch_norm", &DeepParams::batch_norm,
      "Whether the products with the inputs are normalised over batch and steps, or {rho, eps} of that.");
    p("bi_sum", &DeepParams::bi_sum, kBiSum);
  }
};

// The function of the gates, where cells have gates.
template <typename P>
const Activation* gate_of(const P& params) {
  if constexpr (requires { params.gate_activation; })
    return params.gate_activation ? &*params.gate_activation : nullptr;
  return nullptr;
}

template <typename P>
Directions directions_of(const P& params, bool batch_norm) {
  Directions out;
  out.batch_norm.given = batch_norm;
  if constexpr (requires { params.split_inputs; }) out.split_inputs = params.split_inputs;
  if constexpr (requires { params.depth; })
    out.depth = params.depth, out.batch_norm = params.batch_norm, out.bi_sum = params.bi_sum;
  return out;
}

template <CellType type, typename P, bool batch_norm = false>
struct Bidirectional : Parametrized<Layer, P> {
  explicit Bidirectional(P given) : Parametrized<Layer, P>(std::move(given)) {
    this->params.init = init_or_default(this->params.init, WeightUse::product);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    const P& params = this->params;
    check_sequence(context, x, "a recurrent layer");
    return stacked(context, {type, params, gate_of(params), context.layer}, directions_of(params, batch_norm), x);
  }
  bool takes_tokens() const override { return true; }
  Sight sight() const override { return Sight::any; }
  std::string idle() const override {
    if (!this->params.bias || !directions_of(this->params, batch_norm).batch_norm) return "";
    return "bias has no effect: batch norm has a shift of its own, which begins at 0";
  }
};

const Registration<Layer, Bidirectional<CellType::recurrent, BiParams<CellParams>>> birnn{
    "BiRNN",
    "Recurrent in both directions: (T,F) becomes (T, 2 output_size), the states from the first step on before "
    "those from the last step back."};
const Registration<Layer, Bidirectional<CellType::lstm, BiParams<GatedCellParams>>> bilstm{
    "BiLSTM", "LSTM in both directions: (T,F) becomes (T, 2 output_size), as of BiRNN."};
const Registration<Layer, Bidirectional<CellType::gru, BiParams<GatedCellParams>>> bigru{
    "BiGRU", "GRU in both directions: (T,F) becomes (T, 2 output_size), as of BiRNN."};
const Registration<Layer, Bidirectional<CellType::recurrent, BiParams<CellParams>, true>> bibnrnn{
    "BiBNRNN", "BiRNN whose products with the inputs are normalised over batch and steps, instead of a bias."};
const Registration<Layer, Bidirectional<CellType::recurrent, DeepParams<CellParams>>> deepbirnn{
    "DeepBiRNN", "Layers of BiRNN, one on the other."};
const Registration<Layer, Bidirectional<CellType::lstm, DeepParams<GatedCellParams>>> deepbilstm{
    "DeepBiLSTM", "Layers of BiLSTM, one on the other."};

struct BiSum : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "BiSum");
    return half(context, x, 0) + half(context, x, 1);
  }
};
NEON_REGISTER(Layer, BiSum, "Adds the states of both directions of the layer before: (T, 2 H) becomes (T,H).");

}  // namespace

}  // namespace neon
