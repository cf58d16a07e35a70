#include "layers/projection.h"

#include "layers/split_linear.h"

namespace neon {

namespace {

Parameter weights(const LayerContext& context, const ProjectionOptions& options, int64_t features) {
  const int64_t nout = options.nout;
  return {.name = context.layer + "/W_" + options.part,
          .layer = context.layer,
          .layer_class = options.layer_class,
          .shape = {nout, features},
          .initializer = &*options.init,
          .fan = {.in = features, .out = nout, .rows = nout, .columns = features}};
}

Parameter biases(const LayerContext& context, const ProjectionOptions& options) {
  return {.name = context.layer + "/b_" + options.part,
          .layer = context.layer + "_bias",
          .layer_class = "Bias",
          .shape = {options.nout},
          .initializer = &*options.bias,
          .fan = {.out = options.nout, .rows = options.nout}};
}

}  // namespace

Expr projected(LayerContext& context, Expr rows, const ProjectionOptions& options) {
  const bool split = context.split.has(rows);
  const Parameter w = weights(context, options, split ? features_of(context, rows) : rows.shape()[1]);
  const Expr y = split ? split_product(context, rows, w)
                       : context.expr(matmul(context.graph, rows, context.parameter(w), false, true));
  if (!options.bias) return y;
  return in_sequence(context, as_steps(context, y) + context.parameter(biases(context, options)), y);
}

std::vector<Expr> split_projections(LayerContext& context, Expr x, const std::vector<ProjectionOptions>& parts) {
  const int64_t features = as_rows(as_steps(context, x)).shape()[1];
  std::vector<Parameter> of_parts;
  for (const ProjectionOptions& each : parts) of_parts.push_back(weights(context, each, features));
  std::vector<Expr> out = split_products(context, x, std::move(of_parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].bias) continue;
    const Expr b = feature_parameter(context, out[i], biases(context, parts[i]));
    out[i] = of_each_part(context, out[i], [&](Expr part) { return part + b; });
  }
  return out;
}

}  // namespace neon
