// Running means of a gradient and its square, which Adam and its relatives share.
#pragma once
#include "optimizers/optimizer.h"

namespace neon {

struct MomentRates {
  double beta_1 = 0.9, beta_2 = 0.999;
};

struct Moments {
  Expr mean, square;
};
// Both, with this step's gradient, kept in the states `mean` and `square`.
Moments follow_moments(UpdateContext& context, const MomentRates& rates);

// 1 - beta^count, one number for the whole step: a running mean from 0, divided by it, is a weighted mean.
Expr unbias(double beta, Expr count);

}  // namespace neon
