// BatchNorm (Ioffe and Szegedy 2015): gamma (x - mean) / sqrt(variance + eps) + beta over the batch while training,
// over running statistics otherwise. Like neon, the running variance is the population's; it starts at 1 (neon: 0,
// which made inference before the first batches meaningless). Statistics are f32 (f64 for f64). One value of a feature
// is its own mean: such a batch would leave nothing of x, learn nothing and draw the running variance to 0.
//
// ShiftBatchNorm (Courbariaux et al. 2016, "Binarized neural networks", algorithm 3) multiplies by the nearest powers
// of two instead, in the variance, too. The gradient is that of the products with these factors; to the rounded numbers
// it passes as if they were not rounded. An evaluation rounds, too, where neon's did not: it is the net that was
// trained.
#include "layers/linear.h"
#include "layers/rank_sums.h"

namespace neon {

namespace {

bool shares_statistics(const LayerContext& context) { return context.shared_statistics && context.share.ranks > 1; }

// The sums over all ranks where these share statistics, otherwise of this rank alone.
std::vector<Expr> where_shared(const LayerContext& context, std::vector<Expr> parts) {
  return shares_statistics(context) ? over_ranks(context, std::move(parts)) : parts;
}
Expr where_shared(const LayerContext& context, Expr part) { return where_shared(context, std::vector{part})[0]; }

// a times the power of two nearest to b.
Expr times_power_of_two(Expr a, Expr b) {
  const Expr rounded = apply("stop_gradient", b);
  return apply("shift", a, rounded) + (b - rounded) * apply("stop_gradient", a);  // adds 0, and b's gradient
}

Expr squared(Expr distance, const BatchNormParams& params) {
  return params.binary ? times_power_of_two(distance, distance) : square(distance);
}

// distance / sqrt(variance + eps) * gamma + beta
Expr scaled(Expr distance, Expr variance, Expr gamma, Expr beta, const BatchNormParams& params) {
  const Expr inverse = apply("rsqrt", variance + params.eps);
  if (!params.binary) return distance * (gamma * inverse) + beta;
  return times_power_of_two(times_power_of_two(distance, inverse), gamma) + beta;
}

// The batch norm of x, its mean and variance. `total` adds up the numbers of each feature that count, of this rank;
// `count` is how many those of all ranks are. As in the op batch_norm, a second reading corrects the mean and the
// variance (backends/graph/ops_batch_norm.cpp). The mean's correction depends on rounding alone, and has no
// gradient.
std::vector<Value> over_all(const LayerContext& context, Expr x, Expr gamma, Expr beta, const auto& total, Expr count,
                            const BatchNormParams& params) {
  const Expr mean = where_shared(context, total(x)) / count, distance = x - mean;
  if (params.binary) {
    const Expr rest = apply("stop_gradient", where_shared(context, total(distance)) / count), exact = distance - rest;
    const Expr variance = where_shared(context, total(squared(exact, params))) / count;
    return {scaled(exact, variance, gamma, beta, params), mean, variance};
  }
  const std::vector<Expr> sums = where_shared(context, {total(distance), total(square(distance))});
  const Expr rest = apply("stop_gradient", sums[0] / count), variance = maximum(sums[1] / count - square(rest), 0);
  return {scaled(distance - rest, variance, gamma, beta, params), mean, variance};
}

// Over the steps of x (N,T,F) that count alone: `counts` (N,T,1) is 1 there and 0 elsewhere. The steps of a sequence
// are added one after the other, so that padding changes no bit.
std::vector<Value> over_counted_steps(const LayerContext& context, Expr x, Expr gamma, Expr beta, Expr counts,
                                      const BatchNormParams& params) {
  const auto total = [&](Expr each) { return sum(sum(apply("select", counts, each, each.constant(0)), {1}), {0}); };
  return over_all(context, x, gamma, beta, total, where_shared(context, sum(sum(counts, {1}), {0})), params);
}

// Over the samples x (N,...,F) of all ranks or of this one.
std::vector<Value> over_whole_batch(const LayerContext& context, Expr x, Expr gamma, Expr beta,
                                    const std::vector<int64_t>& axes, const BatchNormParams& params) {
  const BatchShare& share = context.share;
  double count = double(x.shape().elements() / x.shape().back());
  if (shares_statistics(context))
    count = double(share.whole) * double(x.shape().elements() / share.count / x.shape().back());
  return over_all(
      context, x, gamma, beta, [&](Expr each) { return sum(each, axes); }, x.constant(count), params);
}

}  // namespace

void Value_of<BatchNormChoice>::read(const Setting& from, BatchNormChoice& out, const Constraint&, Problems& problems) {
  out = {};
  if (from.is_map()) out = {read_params<BatchNormParams>(from, problems), true};
  else if (!detail::read_bool(from, out.given))
    detail::wrong_type(from, "true, false or numbers, as in {rho: 0.99, eps: 1e-6}", problems);
}

Setting Value_of<BatchNormChoice>::write(const BatchNormChoice& value) {
  const BatchNormParams usual;
  if (!value || (value.rho == usual.rho && value.eps == usual.eps)) return Setting::scalar(value ? "true" : "false");
  return write_params(static_cast<const BatchNormParams&>(value));
}

Expr batch_norm(LayerContext& context, Expr x, const BatchNormParams& params, const std::string& name) {
  const Shape shape = x.shape();
  const Shape stored{shape.back()};
  Shape wide = stored;
  std::vector<int64_t> axes;
  for (int axis = 0; axis < shape.rank() - 1; ++axis) {
    axes.push_back(axis);
    wide = Shape{1}.concat(wide);
  }
  Graph& graph = context.graph;
  bool trained = false;
  auto parameter = [&](const char* part, double fill) {
    const Expr own = context.parameter({.name = name + "/" + part,
                                        .layer = name,
                                        .layer_class = "BatchNorm",
                                        .shape = stored,
                                        .fill = fill,
                                        .fan = {1, 1}},
                                       context.master_dtype);
    trained = trained || is_trained(context, own);
    return cast(own, context.arithmetic_dtype);
  };
  Expr gamma = reshape(parameter("gamma", 1), wide), beta = reshape(parameter("beta", 0), wide);
  Expr running_mean = context.state(name + "/gmean", stored, 0),
       running_variance = context.state(name + "/gvar", stored, 1);
  const bool one_value = shape.elements() == shape.back() && !(shares_statistics(context) && context.share.whole > 1);
  const bool over_batch = context.training && trained;  // a frozen one is the one that was trained
  if (over_batch && one_value)
    fail(ErrorKind::config, "batch norm of ", shape, " while training: each of the ", shape.back(),
         " features has one value in the batch, so its variance is 0 and nothing would be learnt; give a larger "
         "batch_size (-z)",
         context.share.ranks > 1 && context.share.whole > 1 ? " or parallel: {batch_norm: all}" : "");
  Expr wide_x = cast(x, context.arithmetic_dtype);
  if (!over_batch) {
    const Expr distance = wide_x - reshape(running_mean, wide);
    const Expr y = cast(scaled(distance, reshape(running_variance, wide), gamma, beta, params), x.dtype());
    context.keep_axes(x, y);
    return y;
  }
  const Expr counts = unfilled(context, x);
  std::vector<Value> results;
  if (counts.value()) results = over_counted_steps(context, wide_x, gamma, beta, counts, params);
  else if (shares_statistics(context) || params.binary)
    results = over_whole_batch(context, wide_x, gamma, beta, axes, params);
  else results = graph.add_all("batch_norm", {wide_x, gamma, beta}, {{"axes", axes}, {"epsilon", params.eps}});
  auto follow = [&](Expr running, Value batch) {
    const Expr of_batch = reshape(Expr(graph, batch), stored), share = context.share_of_batch;
    if (share.value()) context.update_state(running, running + share * (of_batch - running));
    else context.update_state(running, params.rho * running + (1 - params.rho) * of_batch);
  };
  follow(running_mean, results[1]);
  follow(running_variance, results[2]);
  const Expr y = cast(Expr(graph, results[0]), x.dtype());
  context.keep_axes(x, y);
  return y;
}

namespace {

struct RoundableBatchNormParams : BatchNormParams {
  static void describe(auto&& p) {
    BatchNormParams::describe(p);
    p("binary", &RoundableBatchNormParams::binary,
      "Multiplies by the nearest powers of two, as ShiftBatchNorm does, for nets of binary weights.");
  }
};
struct BatchNorm : Parametrized<Layer, RoundableBatchNormParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override { return batch_norm(context, x, params, context.layer); }
};
NEON_REGISTER(
    Layer, BatchNorm,
    "Normalises each feature or feature map to mean 0 and deviation 1, then scales and shifts it by trained numbers. "
    "Training takes mean and variance (biased) of the batch, an evaluation the running ones, which start at 0 and 1. "
    "Padded steps of sequences do not count, nor those that fill up the last piece of a text.");

struct BatchNormAutodiffParams : BatchNormParams {
  BatchNormAutodiffParams() { rho = 0.99, eps = 1e-6; }
  static void describe(auto&& p) { BatchNormParams::describe(p); }
};
struct BatchNormAutodiff : Parametrized<Layer, BatchNormAutodiffParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override { return batch_norm(context, x, params, context.layer); }
};
NEON_REGISTER(Layer, BatchNormAutodiff, "BatchNorm with the defaults of neon's layer of this name.");

struct ShiftBatchNormParams : BatchNormParams {
  ShiftBatchNormParams() { rho = 0.99, eps = 1e-6, binary = true; }
  static void describe(auto&& p) { BatchNormParams::describe(p); }
};
struct ShiftBatchNorm : Parametrized<Layer, ShiftBatchNormParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override { return batch_norm(context, x, params, context.layer); }
};
NEON_REGISTER(
    Layer, ShiftBatchNorm,
    "BatchNorm that multiplies by the nearest powers of two, for nets of binary weights (Courbariaux et al. 2016): "
    "1 / sqrt(variance + eps) and gamma are rounded, and in the squares of the variance one factor is. The evaluation "
    "rounds, too.");

}  // namespace

}  // namespace neon
