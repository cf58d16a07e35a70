// Group normalisation (Wu and He 2018): groups of neighbouring channels of each sample, over the places of x (N,...,C):
//   group_norm(x, gamma, beta) -> y, mean, rest, scale     y = gamma (x - mean) scale + beta
//   group_norm_grad(x, gamma, mean, rest, scale, g) -> dx, dgamma, dbeta
// scale is 1 / sqrt(variance + epsilon), the variance the population's. gamma and beta are (C), statistics (N,1,...,C):
// each channel has those of its group. The exact mean is mean + rest, as in batch norm. No gradient flows through
// statistics.
//
// A large array is read for the sums of each channel of a sample. From them follow those of a group, and no array is
// seen in another shape.
#include "backends/graph/flops.h"
#include "backends/graph/op.h"
#include "backends/graph/statistics.h"

namespace neon {

namespace {

Shape of_statistic(const Shape& x) {
  Shape out = x;
  for (int axis = 1; axis < x.rank() - 1; ++axis) out = out.with(axis, 1);
  return out;
}

void check_channels(const InferContext& c, std::initializer_list<int> operands) {
  const TensorType& x = c.inputs[0];
  const TensorType channels{x.dtype, {x.shape.back()}};
  if (x.shape.back() % c.attributes.integer("groups"))
    fail(ErrorKind::config, "group norm of ", x, " has ", c.attributes.integer("groups"),
         " groups, which must divide its channels");
  for (int i : operands)
    if (c.inputs[size_t(i)] != channels)
      fail(ErrorKind::config, "group norm of ", x, " takes gamma and beta of ", channels, ", got ",
           c.inputs[size_t(i)]);
}

std::vector<TensorType> infer_group_norm(const InferContext& c) {
  check_channels(c, {1, 2});
  const TensorType statistic{c.inputs[0].dtype, of_statistic(c.inputs[0].shape)};
  return {c.inputs[0], statistic, statistic, statistic};
}

std::vector<TensorType> infer_group_norm_grad(const InferContext& c) {
  check_channels(c, {1});
  return {c.inputs[0], c.inputs[1], c.inputs[1]};
}

// The shapes of a node: numbers of channels of samples lie as `statistic` beside x, and in `parts` in groups.
struct Groups {
  Groups(const Shape& x, int64_t groups)
      : statistic(of_statistic(x)), each(groups == x.back()), parts(each ? statistic : in_groups(x, groups)) {
    for (int axis = 1; axis < x.rank() - 1; ++axis) places.push_back(axis), count *= double(x[axis]);
    channels = each ? std::vector<int64_t>(size_t(x.rank()), 1) : std::vector<int64_t>{1, groups, x.back() / groups};
    if (each) channels.back() = x.back();
  }

  static Shape in_groups(const Shape& x, int64_t groups) { return {x[0], groups, x.back() / groups}; }

  // (N,G,F) or (C) in groups; the mean of each group (N,G,1); back beside x.
  Expr apart(Expr of_channels) const {
    return reshape(of_channels, of_channels.shape().rank() == 1 ? Shape(channels) : parts);
  }
  Expr mean_of_group(Expr part) const { return each ? part : mean(part, {2}); }
  Expr beside_x(Expr part) const { return reshape({part.graph(), broadcast_to(part.graph(), part, parts)}, statistic); }

  Shape statistic;
  bool each;  // each channel is a group
  Shape parts;
  std::vector<int64_t> places, channels;
  double count = 1;  // of places
};

std::vector<Value> define_group_norm(Graph& graph, const Node& node) {
  const Expr x(graph, node.inputs[0]);
  const Groups in(x.shape(), node.attributes.integer("groups"));
  const Expr gamma = in.apart({graph, node.inputs[1]}), beta = in.apart({graph, node.inputs[2]});
  const Statistics of_channels = statistics(x, in.statistic, in.places);
  const Expr average = in.apart(of_channels.average), rest = in.apart(of_channels.rest);
  Expr mean = average, correction = rest, variance = in.apart(of_channels.variance);
  if (!in.each) {
    mean = in.mean_of_group(average);
    const Expr distance = average - mean + rest;
    correction = in.mean_of_group(distance);
    variance = in.mean_of_group(variance + square(distance - correction));
  }
  const Expr scale = apply("rsqrt", variance + node.attributes.real("epsilon"));
  const Expr factor = scale * gamma, shared = in.beside_x(mean);
  const Expr y = (x - shared) * in.beside_x(factor) + in.beside_x(beta - correction * factor);
  return {y, shared, in.beside_x(correction), in.beside_x(scale)};
}

void group_norm_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(1) && !c.cotangent(2) && !c.cotangent(3));
  if (!c.cotangent()) return;
  const auto results =
      c.graph.add_all("group_norm_grad", {c.input(0), c.input(1), c.output(1), c.output(2), c.output(3), c.cotangent()},
                      c.node.attributes);
  for (size_t i = 0; i < 3; ++i) c.results[i] = results[i];
}

// With n = near - shift, the normalised x, and means over a group's channels and places:
//   dx = scale (gamma g - mean(gamma g) - n mean(gamma g n))
std::vector<Value> define_group_norm_grad(Graph& graph, const Node& node) {
  const Expr x(graph, node.inputs[0]), average(graph, node.inputs[2]), rest(graph, node.inputs[3]),
      scale(graph, node.inputs[4]), g(graph, node.inputs[5]);
  const Groups in(x.shape(), node.attributes.integer("groups"));
  const Expr gamma = in.apart({graph, node.inputs[1]});
  const Expr near = (x - average) * scale, shift = rest * scale;
  const Expr of_g = sum(g, in.places), of_both = sum(g * near, in.places) - shift * of_g;
  const Expr scales = in.apart(scale);
  const Expr offset = in.mean_of_group(in.apart(of_g) * gamma) * (1 / in.count),
             slope = in.mean_of_group(in.apart(of_both) * gamma) * (1 / in.count);
  const Expr dx = g * in.beside_x(scales * gamma) - ((x - average) * in.beside_x(scales * scales * slope) +
                                                     in.beside_x(scales * (offset - in.apart(shift) * slope)));
  std::vector<int64_t> samples;
  for (int axis = 0; axis < x.shape().rank() - 1; ++axis) samples.push_back(axis);
  const auto total = [&](Expr of_samples) { return reshape(sum(of_samples, samples), {x.shape().back()}); };
  return {dx, total(of_both), total(of_g)};
}

const OpRegistration group_norm_ops[] = {
    OpRegistration({"group_norm", infer_group_norm, group_norm_gradient, define_group_norm, {}, flops_along}),
    OpRegistration({"group_norm_grad", infer_group_norm_grad, nullptr, define_group_norm_grad, {}, flops_along}),
};

}  // namespace

}  // namespace neon
