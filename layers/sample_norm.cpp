#include "layers/sample_norm.h"

namespace neon {

Expr norm_parameter(LayerContext& context, const char* part, double fill, int64_t features,
                    const std::string& layer_class) {
  return cast(context.parameter({.name = context.layer + "/" + part,
                                 .layer = context.layer,
                                 .layer_class = layer_class,
                                 .shape = {features},
                                 .fill = fill,
                                 .fan = {1, 1}},
                                context.master_dtype),
              context.arithmetic_dtype);
}

Expr scaled_and_shifted(LayerContext& context, Expr x, bool shift, const std::string& layer_class) {
  Expr y = x * norm_parameter(context, "gamma", 1, x.shape().back(), layer_class);
  if (shift) y = y + norm_parameter(context, "beta", 0, x.shape().back(), layer_class);
  return cast(y, context.dtype);
}

Expr normalized_over(LayerContext& context, Expr x, std::vector<int64_t> axes, double eps) {
  int64_t count = 1;
  for (const int64_t axis : axes) count *= x.shape()[int(axis)];
  if (count == 1)
    fail(ErrorKind::config, "each number of ", context.sample_shape(x),
         " would be normalised by itself: it is its own mean, so that nothing is left of it");
  return context.expr(context.graph.add_all("normalize", {x}, {{"axes", std::move(axes)}, {"epsilon", eps}})[0]);
}

}  // namespace neon
