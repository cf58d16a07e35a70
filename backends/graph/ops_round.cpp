// round_stochastic(x) -> y in the type `dtype`, of which only `bits` bits of mantissa are kept.
//
// y is one of the two neighbours of x among the numbers with `bits` bits of mantissa and the exponents of `dtype`: the
// larger in size with the probability of the part of the way to it that x has gone, so that the mean of y is x (to
// 2^-24 of the distance: a draw has 24 bits). An x among these numbers stays as it is, and so do NaN, infinity and the
// sign of 0. Below the smallest normal number of f32 and bf16 the neighbours are as far apart as just above it,
// subnormals and 0 being among them; of f16 they are at least its smallest subnormal number apart; beyond the largest
// finite number there is infinity. Signed integers have whole numbers as neighbours and saturate; u8 takes the nearest,
// as in neon. The draw is uniform's, keyed by (seed, stream, step, element): the same everywhere. Attributes axis,
// first and all name the part that x is of a larger array, whose elements are counted then.
#include <algorithm>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "backends/graph/rounded_part.h"

namespace neon {

int most_kept_bits(DType dtype) {
  switch (dtype) {
    case DType::f32: return 15;  // as neon had it
    case DType::f16: return 10;
    case DType::bf16: return 7;
    default: return 0;
  }
}

namespace {

std::vector<TensorType> infer_round(const InferContext& c) {
  const DType dtype = DType(c.attributes.integer("dtype"));
  const int64_t bits = c.attributes.integer("bits"), most = most_kept_bits(dtype);
  if (dtype == DType::f64) fail(ErrorKind::config, "stochastic rounding is to f32, f16, bf16 or integers, not f64");
  if (is_floating(dtype) && (bits < 1 || bits > most))
    fail(ErrorKind::config, "stochastic rounding keeps 1 to ", most, " bits of ", dtype, ", not ", bits);
  return {{dtype, c.inputs[0].shape}};
}

// The draws of x, which may be a part of an array.
Value draws(Graph& graph, const Attributes& attributes, const Shape& shape) {
  const uint64_t seed = uint64_t(attributes.integer("seed"));
  const std::string& stream = attributes.string("stream");
  if (!attributes.has("all")) return uniform(graph, shape, seed, stream);
  const int axis = int(attributes.integer("axis"));
  const int64_t first = attributes.integer("first");
  if (axis == 0) return uniform(graph, shape, seed, stream, first * (shape.elements() / shape[0]));
  const Value all = uniform(graph, shape.with(axis, attributes.integer("all")), seed, stream);
  return graph.add("slice", {all}, {{"axis", int64_t(axis)}, {"first", first}, {"count", shape[axis]}});
}

std::vector<Value> define_round(Graph& graph, const Node& node) {
  const DType to = DType(node.attributes.integer("dtype"));
  const Expr given(graph, node.inputs[0]), x = cast(given, compute_type(given.dtype()));
  if (to == DType::u8) return {cast(x, to)};
  const double bits = double(node.attributes.integer("bits")), least = to == DType::f16 ? bits - 24 : -126;
  const Expr step = is_floating(to) ? apply("spacing", x, x.constant(bits), x.constant(least)) : x.constant(1);
  const Expr drawn(graph, draws(graph, node.attributes, x.shape()));
  return {cast(apply("round_by_chance", x, step, cast(drawn, x.dtype())), to)};
}

const OpRegistration round_op({ops::round_stochastic, infer_round, nullptr, define_round});

}  // namespace

Expr round_stochastic(Expr x, DType dtype, int bits, uint64_t seed, const std::string& stream) {
  return round_part_stochastic(x, dtype, bits, seed, stream, {});
}

Expr round_part_stochastic(Expr x, DType dtype, int bits, uint64_t seed, const std::string& stream, PartOf part) {
  Attributes attributes = {
      {"dtype", int64_t(dtype)}, {"bits", int64_t(bits)}, {"seed", int64_t(seed)}, {"stream", stream}};
  if (part.all > 0)
    attributes = attributes.with("axis", int64_t(part.axis)).with("first", part.first).with("all", part.all);
  return {x.graph(), x.graph().add(ops::round_stochastic, {x}, std::move(attributes))};
}

}  // namespace neon
