// GatedMLP: the feed-forward part of a transformer with a gate (Shazeer 2020).
#include "layers/default_init.h"
#include "layers/linear.h"
#include "layers/projection.h"
#include "layers/split_linear.h"

namespace neon {

namespace {

struct GatedMlpParams {
  int64_t hidden = 0, nout = 0;
  Made<Initializer> init, bias;
  Made<Activation> activation;
  static void describe(auto&& p) {
    p("hidden", &GatedMlpParams::hidden, "Number of hidden units.", at_least(1), Required{});
    p("nout", &GatedMlpParams::nout, "Outputs of a sample or step. 0: as many as its features.", at_least(0));
    p("init", &GatedMlpParams::init, kProductInitSentence, Alias{"weight_init"});
    p("bias", &GatedMlpParams::bias, "Initializer of the biases. Without it the layer has no biases.");
    p("activation", &GatedMlpParams::activation,
      "Activation of the gate: Swish makes it SwiGLU, Gelu GEGLU, Logistic GLU. Default: Swish.");
  }
};

struct GatedMLP : Parametrized<Layer, GatedMlpParams> {
  explicit GatedMLP(GatedMlpParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::product);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    const Expr rows = as_rows(as_steps(context, x));
    const int64_t nout = params.nout > 0 ? params.nout : rows.shape()[1];
    const bool split = splits_inside(context, x, {params.hidden}) && gate_is_of_elements(x.dtype());
    std::vector<Expr> both;  // gate and up
    if (split) both = split_projections(context, x, {part("gate", params.hidden), part("up", params.hidden)});
    const Expr gate = split ? both[0] : projected(context, rows, part("gate", params.hidden)),
               open = opened(context, gate);
    const Expr up = split ? both[1] : projected(context, rows, part("up", params.hidden));
    const Expr hidden = of_both_parts(context, open, up, [](Expr a, Expr b) { return a * b; });
    return in_sequence(context, as_steps(context, projected(context, hidden, part("down", nout))), x);
  }

 private:
  ProjectionOptions part(const char* name, int64_t units) const {
    return {name, "GatedMLP", units, params.init, params.bias};
  }
  bool gate_is_of_elements(DType dtype) const {
    return !params.activation || is_of_elements(*params.activation, dtype);
  }
  Expr opened(LayerContext& context, Expr gate) const {
    if (params.activation) return activate(context, gate, params.activation);
    return of_each_part(context, gate, [](Expr each) { return apply("swish", each); });
  }
};
NEON_REGISTER(
    Layer, GatedMLP,
    "Two layers with a gate (Shazeer 2020): W_down (activation(W_gate x) * W_up x). Each step of a sequence is "
    "a row of features.");

}  // namespace

}  // namespace neon
