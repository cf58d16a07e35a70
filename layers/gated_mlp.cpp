// GatedMLP: the feed-forward part of a transformer with a gate (Shazeer 2020).
#include "layers/linear.h"
#include "layers/projection.h"

namespace neon {

namespace {

struct GatedMlpParams {
  int64_t hidden = 0, nout = 0;
  Made<Initializer> init, bias;
  Made<Activation> activation;
  static void describe(auto&& p) {
    p("hidden", &GatedMlpParams::hidden, "Number of hidden units.", at_least(1), Required{});
    p("nout", &GatedMlpParams::nout, "Outputs of a sample or step. 0: as many as its features.", at_least(0));
    p("init", &GatedMlpParams::init, "Initializer of the weights, as in init: GlorotUniform.", Alias{"weight_init"},
      Required{});
    p("bias", &GatedMlpParams::bias, "Initializer of the biases. Without it the layer has no biases.");
    p("activation", &GatedMlpParams::activation,
      "Activation of the gate: Swish makes it SwiGLU, Gelu GEGLU, Logistic GLU. Default: Swish.");
  }
};

struct GatedMLP : Parametrized<Layer, GatedMlpParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    const Expr rows = as_rows(as_steps(context, x));
    const int64_t nout = params.nout > 0 ? params.nout : rows.shape()[1];
    const auto part = [&](Expr of, const char* name, int64_t units) {
      return projected(context, of, {name, "GatedMLP", units, params.init, params.bias});
    };
    const Expr gate = part(rows, "gate", params.hidden);
    const Expr open = params.activation ? activate(context, gate, params.activation) : apply("swish", gate);
    const Expr hidden = open * part(rows, "up", params.hidden);
    return in_sequence(context, part(hidden, "down", nout), x);
  }
};
NEON_REGISTER(
    Layer, GatedMLP,
    "Two layers with a gate (Shazeer 2020): W_down (activation(W_gate x) * W_up x). Each step of a sequence is "
    "a row of features.");

}  // namespace

}  // namespace neon
