// One row of features from the steps of a sequence, (N,T,F) -> (N,F).
#include "backends/graph/ops.h"
#include "layers/cells.h"

namespace neon {

namespace {

// y (N,1,F) -> (N,F)
Expr one_row(Expr y) {
  const Shape& shape = y.shape();
  return reshape(y, {shape[0], shape[2]});
}

struct RecurrentSum : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "RecurrentSum");
    return one_row(sum(x, {1}));
  }
};
NEON_REGISTER(Layer, RecurrentSum, "The sum over the steps of a sequence: (T,F) becomes (F).");

struct RecurrentMean : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "RecurrentMean");
    return one_row(mean(x, {1}));
  }
};
NEON_REGISTER(Layer, RecurrentMean, "The mean over the steps of a sequence: (T,F) becomes (F).");

struct RecurrentMax : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "RecurrentMax");
    return one_row(max(x, {1}));
  }
};
NEON_REGISTER(Layer, RecurrentMax, "The largest of each feature over the steps of a sequence: (T,F) becomes (F).");

struct RecurrentLast : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "RecurrentLast");
    const Value last =
        context.graph.add(ops::slice, {x}, {{"axis", int64_t(1)}, {"first", x.shape()[1] - 1}, {"count", int64_t(1)}});
    return one_row({context.graph, last});
  }
};
NEON_REGISTER(Layer, RecurrentLast, "The last step of a sequence: (T,F) becomes (F).");

}  // namespace

}  // namespace neon
