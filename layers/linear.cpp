// Linear: y = x W^T, without bias, as neon had it. The features of images are the numbers in the order in which they
// lie: (H,W,C), in data sets of images, too. Each step of a sequence is multiplied by itself.
#include "layers/linear.h"

#include "layers/default_init.h"
#include "layers/split_linear.h"

namespace neon {

int64_t OutputCount::of(const LayerContext& context) const {
  if (number > 0) return number;
  if (context.classes == 0)
    fail(ErrorKind::config, "nout: classes is for a data set that has classes, and this one has none; give a number");
  return context.classes;
}

void Value_of<OutputCount>::read(const Setting& from, OutputCount& out, const Constraint& constraint,
                                 Problems& problems) {
  out.number = 0;
  if (from.is_scalar() && from.value == "classes") return;
  Value_of<int64_t>::read(from, out.number, constraint, problems);
}

Setting Value_of<OutputCount>::write(const OutputCount& value) {
  return value.number > 0 ? Value_of<int64_t>::write(value.number) : Setting::scalar("classes");
}

Expr linear(LayerContext& context, Expr given, int64_t nout, const Initializer& init, const std::string& name,
            bool transpose) {
  const bool split = !transpose && splits(context, given, nout);
  if (!split) given = own_samples(context, given);
  const Expr x = context.split.has(given) ? given : as_rows(as_steps(context, given));
  const int64_t nin = features_of(context, x);
  const Parameter parameter = {.name = name + "/W",
                               .layer = name,
                               .layer_class = "Linear",
                               .shape = transpose ? Shape{nin, nout} : Shape{nout, nin},
                               .initializer = &init,
                               .fan = {.in = nin, .out = nout, .rows = nout, .columns = nin}};
  if (split) return split_product(context, given, parameter);
  const Expr weight = context.parameter(parameter);
  return in_sequence(context, {x.graph(), matmul(x.graph(), x, weight, false, !transpose)}, given);
}

namespace {

struct LinearParams {
  OutputCount nout;
  Made<Initializer> init;
  bool transpose = false;
  static void describe(auto&& p) {
    p("nout", &LinearParams::nout, "Number of outputs of a sample; classes: as many as the data set has classes.",
      at_least(1), Required{});
    p("init", &LinearParams::init, kProductInitSentence, Alias{"weight_init"});
    p("transpose", &LinearParams::transpose, kTransposeSentence);
  }
};

struct Linear : Parametrized<Layer, LinearParams> {
  explicit Linear(LinearParams given) : Parametrized(std::move(given)) { params.init = init_before({}, params.init); }
  Expr forward(LayerContext& context, Expr x) const override {
    return linear(context, x, params.nout.of(context), *params.init, context.layer, params.transpose);
  }
  bool takes_channels_first() const override { return true; }
  bool takes_split() const override { return true; }
};
NEON_REGISTER(Layer, Linear,
              "y = x W^T, without bias; W (nout, nin). The features of images are in the order (H,W,C). Each step of a "
              "sequence (T,F) is a row of features: (T,nout).");

}  // namespace

}  // namespace neon
