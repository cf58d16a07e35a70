// A restricted Boltzmann machine as a layer: its outputs are the probabilities of the hidden units. Rules that train it
// take its conditional probabilities and its free energy.
#pragma once
#include <string>

#include "layers/default_init.h"
#include "layers/linear.h"

namespace neon {

struct RBMParams {
  int64_t nout = 0;
  Made<Initializer> init;
  Made<Initializer> bias{"Constant"}, visible_bias{"Constant"};
  std::string visible = "binary";
  static void describe(auto&& p) {
    p("nout", &RBMParams::nout, "Number of hidden units.", at_least(1), Required{});
    p("init", &RBMParams::init, "Initializer of the weights. Default: {Gaussian: {scale: 0.01}}.",
      Alias{"weight_init"});
    p("bias", &RBMParams::bias, "Initializer of the biases of the hidden units.");
    p("visible_bias", &RBMParams::visible_bias, "Initializer of the biases of the visible units.");
    p("visible", &RBMParams::visible,
      "Kind of the visible units: binary, for numbers from 0 to 1, or gaussian, for numbers of mean 0 and deviation 1.",
      one_of({"binary", "gaussian"}));
  }
};

// The arrays of a machine in a graph, as activations have them: weights (K,D), biases (K) and (D).
class RBMArrays {
 public:
  RBMArrays(LayerContext& context, const RBMParams& params, const std::string& name, int64_t inputs);
  // v (N,D) -> probabilities of the hidden units (N,K)
  Expr hidden(Expr v) const { return apply("logistic", inputs_of_hidden(v)); }
  // h (N,K) -> means of the visible units (N,D): probabilities, where these are binary
  Expr visible(Expr h) const;
  // F(v) (N,1): -log of the sum of exp(-energy) over all states of the hidden units
  Expr free_energy(Expr v) const;

 private:
  Expr inputs_of_hidden(Expr v) const;
  Expr weights_, hidden_bias_, visible_bias_;
  bool binary_;
};

struct RBM : Parametrized<Layer, RBMParams> {
  explicit RBM(RBMParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::machine);
  }
  Expr forward(LayerContext& context, Expr x) const override;
  bool takes_channels_first() const override { return true; }
};

}  // namespace neon
