// Parts that other layers are composed of.
#pragma once
#include "layers/layer.h"

namespace neon {

struct BatchNormParams {
  double rho = 0.9;
  double eps = 1e-3;
  static void describe(auto&& p) {
    p("rho", &BatchNormParams::rho, "Share of the running statistics that a batch leaves unchanged.", half_open(0, 1));
    p("eps", &BatchNormParams::eps, "Added to the variance.", above(0));
  }
};

// x (N,C) · W^T (C,K) -> (N,K); W (K,C)
Expr linear(LayerContext& context, Expr x, int64_t nout, const Initializer& init, const std::string& name);
// x (N,...,K) + b (K)
Expr bias(LayerContext& context, Expr x, const Initializer& init, const std::string& name);
// x (N,...,K) normalised over the batch (and the pixels of a feature map), then scaled and shifted.
Expr batch_norm(LayerContext& context, Expr x, const BatchNormParams& params, const std::string& name);

}  // namespace neon
