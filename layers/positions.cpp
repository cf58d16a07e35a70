// Positions added to the steps of sequences, which attention alone cannot tell apart.
#include <cmath>

#include "layers/cells.h"
#include "layers/default_init.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct LearnedPositionsParams {
  int64_t steps = 0;
  Made<Initializer> init;
  static void describe(auto&& p) {
    p("steps", &LearnedPositionsParams::steps,
      "Number of positions in the table. 0: as many as the sequences have steps.", at_least(0));
    p("init", &LearnedPositionsParams::init, "Initializer of the table. Default: {Gaussian: {scale: 0.02}}.",
      Alias{"weight_init"});
  }
};

struct LearnedPositions : Parametrized<Layer, LearnedPositionsParams> {
  explicit LearnedPositions(LearnedPositionsParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::table);
  }
  Sight sight() const override { return Sight::kept; }
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "LearnedPositions");
    const int64_t steps = context.place ? context.places : x.shape()[1], features = x.shape()[2],
                  rows = params.steps > 0 ? params.steps : steps;
    if (rows < steps)
      fail(ErrorKind::config, "LearnedPositions has ", rows, " positions for sequences of ", steps,
           " steps; give steps: ", steps, " or more");
    Expr table = context.parameter({.name = context.layer + "/W",
                                    .layer = context.layer,
                                    .layer_class = "LearnedPositions",
                                    .shape = {rows, features},
                                    .initializer = &*params.init,
                                    .fan = {.in = rows, .out = features, .rows = rows, .columns = features}});
    if (context.place) return x + reshape(context.expr(gather(context.graph, table, context.place)), x.shape());
    if (rows > steps) table = part(table, 0, 0, steps);
    return x + table;
  }
};
NEON_REGISTER(Layer, LearnedPositions,
              "Adds a trained row to each step of a sequence, the same for all sequences. A checkpoint holds W (steps, "
              "F).");

struct SinusoidalPositionsParams {
  double base = 10000;
  static void describe(auto&& p) {
    p("base", &SinusoidalPositionsParams::base, "Base of the wavelengths, which grow from 2 pi to 2 pi base steps.",
      above(1));
  }
};

struct SinusoidalPositions : Parametrized<Layer, SinusoidalPositionsParams> {
  using Parametrized::Parametrized;
  Sight sight() const override { return Sight::kept; }
  WayOfZeros way_of_zeros() const override { return WayOfZeros::kept; }
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, "SinusoidalPositions");
    return x + cast(table(context, x.shape()[1], x.shape()[2]), x.dtype());
  }

 private:
  // (1,T,F), or (N,1,F) where texts go on: features 2 i and 2 i + 1 of step t are the sine and the cosine of
  // t / base^(2 i / F).
  Expr table(LayerContext& context, int64_t steps, int64_t features) const {
    const auto numbers = [&](const Shape& shape, int axis) {
      return cast(context.expr(iota(context.graph, shape, axis)), context.arithmetic_dtype);
    };
    const Expr feature = numbers({1, 1, features}, 2), pair = apply("floor", feature * 0.5);
    const Expr step = context.place ? reshape(cast(context.expr(context.place), context.arithmetic_dtype),
                                              {context.graph.shape(context.place)[0], 1, 1})
                                    : numbers({1, steps, 1}, 1);
    const Expr angle = step * exp(pair * (-2 * std::log(params.base) / double(features)));
    return apply("select", feature - pair * 2.0, apply("cos", angle), apply("sin", angle));
  }
};
NEON_REGISTER(Layer, SinusoidalPositions,
              "Adds sines and cosines of its number to each step of a sequence: features 2 i and 2 i + 1 of step t get "
              "sin and cos of t / base^(2 i / F) (Vaswani et al. 2017).");

}  // namespace

}  // namespace neon
