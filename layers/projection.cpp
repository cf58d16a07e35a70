#include "layers/projection.h"

namespace neon {

Expr projected(LayerContext& context, Expr rows, const ProjectionOptions& options) {
  const int64_t features = rows.shape()[1], nout = options.nout;
  const Expr w = context.parameter({.name = context.layer + "/W_" + options.part,
                                    .layer = context.layer,
                                    .layer_class = options.layer_class,
                                    .shape = {nout, features},
                                    .initializer = &*options.init,
                                    .fan = {.in = features, .out = nout, .rows = nout, .columns = features}});
  const Expr y = context.expr(matmul(context.graph, rows, w, false, true));
  if (!options.bias) return y;
  return y + context.parameter({.name = context.layer + "/b_" + options.part,
                                .layer = context.layer + "_bias",
                                .layer_class = "Bias",
                                .shape = {nout},
                                .initializer = &*options.bias,
                                .fan = {1, nout}});
}

}  // namespace neon
