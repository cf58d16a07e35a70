#include "layers/layer.h"

namespace neon {

Expr LayerContext::stored_parameter(Parameter p) {
  for (const Parameter& other : parameters)
    if (other.name == p.name)
      fail(ErrorKind::config, "two parameters are named '", p.name, "': give the layers different names");
  Expr stored(graph, graph.variable(p.name, master_dtype, p.shape));
  parameters.push_back(std::move(p));
  return stored;
}

Expr LayerContext::state(const std::string& name, const Shape& shape, double fill) {
  states.push_back({name, shape, fill});
  return {graph, graph.variable(name, arithmetic_dtype, shape)};
}

Expr as_rows(Expr x) {
  const Shape shape = x.shape();
  if (shape.rank() == 2) return x;
  return reshape(x, {shape[0], shape[0] ? shape.elements() / shape[0] : shape.slice(1, shape.rank()).elements()});
}

}  // namespace neon
