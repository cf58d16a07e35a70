// The loss that several metrics are made of.
#pragma once
#include "backends/graph/expression.h"

namespace neon {

inline Expr log_loss(Expr y, Expr t) { return -sum(t * apply("safelog", y), {1}); }

}  // namespace neon
