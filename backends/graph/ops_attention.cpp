// Attention as a compound op, which keeps no matrix of weights for its gradient:
//   attention(q (N,T,H,D), k (N,S,K,D), v (N,S,K,D) [, lengths (N) i32]) -> y (N,T,H,D), sums (N,H,T)
//   attention_grad(q, k, v, y, sums, g [, lengths]) -> dq, dk, dv
// With z = scale q k' where a key is seen, and -1e30 elsewhere: y = softmax(z) v, and sums = log sum exp z, in the type
// of the arithmetic. So softmax(z) = exp(z - sums) (Dao et al. 2022):
//   dv = softmax' g, dz = softmax (g v' - sum(g y)), dq = scale dz k, dk = scale dz' q
#include "backends/graph/attention.h"
#include "backends/graph/draw_places.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

const double kUnseen = -1e30;
// The least sum of exponentials: that of a query that sees any key is at least 1.
constexpr double kLeastSum = 1e-30;

struct AttentionSizes {
  AttentionSizes(const Shape& q, const Shape& k)
      : samples(q[0]), queries(q[1]), heads(q[2]), size(q[3]), keys(k[1]), key_heads(k[2]) {}
  int64_t samples, queries, heads, size, keys, key_heads;
};

AttentionSizes check_attention(const InferContext& c, size_t lengths) {
  const TensorType &q = c.inputs[0], &k = c.inputs[1], &v = c.inputs[2];
  if (q.shape.rank() != 4 || k.shape.rank() != 4 || k != v || q.dtype != k.dtype || !is_floating(q.dtype))
    fail(ErrorKind::config, "attention takes queries (N,T,H,D), keys and values (N,S,K,D) of one floating type, got ",
         q, ", ", k, " and ", v);
  const AttentionSizes s(q.shape, k.shape);
  if (k.shape[0] != s.samples || k.shape[3] != s.size)
    fail(ErrorKind::config, "attention of queries ", q.shape, " to keys ", k.shape,
         ": samples and sizes of heads must agree");
  if (s.key_heads == 0 || s.heads % s.key_heads)
    fail(ErrorKind::config, "attention: ", s.heads, " heads of queries cannot share ", s.key_heads,
         " heads of keys evenly");
  if (c.attributes.integer("causal") && s.keys < s.queries)
    fail(ErrorKind::config, "causal attention of ", s.queries, " queries takes as many keys or more, got ", s.keys);
  const TensorType wanted{DType::i32, {s.samples}};
  if (c.inputs.size() > lengths && c.inputs[lengths] != wanted)
    fail(ErrorKind::config, "attention takes lengths of ", wanted, ", got ", c.inputs[lengths]);
  return s;
}

// The definitions of both ops share these parts.
class AttentionParts {
 public:
  AttentionParts(Graph& graph, const Node& node, size_t lengths)
      : graph_(graph),
        attributes_(node.attributes),
        s_(graph.shape(node.inputs[0]), graph.shape(node.inputs[1])),
        dtype_(graph.dtype(node.inputs[0])),
        arithmetic_(compute_type(dtype_)),
        lengths_(node.inputs.size() > lengths ? node.inputs[lengths] : Value{}),
        seen_(seen()) {}

  // (N,steps,heads,D) -> (N K, steps of all heads that share one of keys, D), and back.
  Expr stacked(Value x) const {
    const Shape shape = graph_.shape(x);
    const Value turned = transpose(graph_, x, {0, 2, 1, 3});
    return {graph_, reshape(graph_, turned, {s_.samples * s_.key_heads, shape[2] / s_.key_heads * shape[1], s_.size})};
  }
  Value unstacked(Expr x, int64_t steps, int64_t heads) const {
    const Expr apart = reshape(cast(x, dtype_), {s_.samples, heads, steps, s_.size});
    return transpose(graph_, apart, {0, 2, 1, 3});
  }

  // A product for each head of keys.
  Expr product(Expr a, Expr b, bool transpose_a, bool transpose_b) const {
    Attributes attributes = {{"transpose_a", int64_t(transpose_a)}, {"transpose_b", int64_t(transpose_b)}};
    if (size_of(dtype_) == 2) attributes = attributes.with(kWide, int64_t(1));
    return {graph_, graph_.add(ops::batch_matmul, {cast(a, dtype_), cast(b, dtype_)}, attributes)};
  }
  // Products of queries and keys (N,H,T,S), and the same numbers for a product with keys.
  Expr matrix(Expr stacks) const { return reshape(stacks, {s_.samples, s_.heads, s_.queries, s_.keys}); }
  Expr stacks(Expr matrix) const {
    return reshape(matrix, {s_.samples * s_.key_heads, s_.heads / s_.key_heads * s_.queries, s_.keys});
  }

  // z (N,H,T,S)
  Expr scores(Expr q, Expr k) const {
    const Expr z = matrix(product(q, k, false, true)) * attributes_.real("scale");
    return seen_.value() ? apply("select", seen_, z, z.constant(kUnseen)) : z;
  }
  // Exponentials, 0 of keys that are not seen: all of a query that sees none are 1 otherwise.
  Expr exponentials(Expr shifted) const { return lengths_ ? exp(shifted) * seen_ : exp(shifted); }
  Expr at_least_one_seen(Expr sum) const { return lengths_ ? maximum(sum, kLeastSum) : sum; }

  // Weights (N,H,T,S), or what they are given, with those left out that dropout draws.
  Expr kept(Expr matrix) const {
    if (!attributes_.has("keep")) return matrix;
    const int64_t sample = attributes_.has("first") ? attributes_.integer("first") : 0;
    const DrawPlaces places = draws_of_weights(sample, s_.heads, s_.queries, s_.keys);
    const Expr draw(graph_, uniform(graph_, matrix.shape(), uint64_t(attributes_.integer("seed")),
                                    attributes_.string("stream"), places));
    const double keep = attributes_.real("keep");
    return matrix * (cast(apply("less", draw, draw.constant(keep)), arithmetic_) * (1 / keep));
  }

  const AttentionSizes& sizes() const { return s_; }
  DType arithmetic() const { return arithmetic_; }

 private:
  // 1 where a query sees a key, otherwise 0; no value where each sees all.
  Expr seen() const {
    Expr out;
    const Expr key(graph_, iota(graph_, {1, 1, 1, s_.keys}, 3));
    if (attributes_.integer("causal")) {
      const Expr query(graph_, iota(graph_, {1, 1, s_.queries, 1}, 2));
      out = apply("less_equal", key, query + double(s_.keys - s_.queries));
    }
    if (lengths_) {
      const Expr length = reshape(cast(Expr(graph_, lengths_), key.dtype()), {s_.samples, 1, 1, 1});
      const Expr inside = apply("less", key, length);
      out = out.value() ? out * inside : inside;
    }
    return out.value() ? cast(out, arithmetic_) : out;
  }

  Graph& graph_;
  const Attributes attributes_;
  const AttentionSizes s_;
  const DType dtype_, arithmetic_;
  const Value lengths_;
  const Expr seen_;
};

std::vector<TensorType> infer_attention(const InferContext& c) {
  const AttentionSizes s = check_attention(c, 3);
  return {c.inputs[0], {compute_type(c.inputs[0].dtype), {s.samples, s.heads, s.queries}}};
}

std::vector<Value> define_attention(Graph& graph, const Node& node) {
  const AttentionParts parts(graph, node, 3);
  const AttentionSizes& s = parts.sizes();
  const Expr v = parts.stacked(node.inputs[2]);
  const Expr z = parts.scores(parts.stacked(node.inputs[0]), parts.stacked(node.inputs[1]));
  const Expr most = max(z, {3});
  const Expr each = parts.exponentials(z - most);
  const Expr total = parts.at_least_one_seen(sum(each, {3}));
  const Expr weights = parts.kept(each / total);
  const Expr y = parts.product(parts.stacks(weights), v, false, false);
  return {parts.unstacked(y, s.queries, s.heads), reshape(most + log(total), {s.samples, s.heads, s.queries})};
}

void attention_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(1));
  std::vector<Value> inputs = {c.input(0), c.input(1), c.input(2), c.output(), c.output(1), c.cotangent()};
  if (c.node.inputs.size() > 3) inputs.push_back(c.input(3));
  const std::vector<Value> results = c.graph.add_all(ops::attention_grad, inputs, c.node.attributes);
  for (size_t i = 0; i < 3; ++i) c.results[i] = results[i];
}

std::vector<TensorType> infer_attention_grad(const InferContext& c) {
  check_attention(c, 6);
  return {c.inputs[0], c.inputs[1], c.inputs[2]};
}

std::vector<Value> define_attention_grad(Graph& graph, const Node& node) {
  const AttentionParts parts(graph, node, 6);
  const AttentionSizes& s = parts.sizes();
  const Expr q = parts.stacked(node.inputs[0]), k = parts.stacked(node.inputs[1]), v = parts.stacked(node.inputs[2]),
             g = parts.stacked(node.inputs[5]);
  const Expr sums = reshape(Expr(graph, node.inputs[4]), {s.samples, s.heads, s.queries, 1});
  const Expr weights = parts.exponentials(parts.scores(q, k) - sums);
  const auto wide = [&](Value x) { return cast(Expr(graph, x), parts.arithmetic()); };
  const Expr inner = sum(wide(node.inputs[5]) * wide(node.inputs[3]), {3});  // (N,T,H,1)
  const Expr of_row(graph, transpose(graph, inner, {0, 2, 1, 3}));
  const Expr of_weights = parts.kept(parts.matrix(parts.product(g, v, false, true)));
  const Expr dz = parts.stacks(weights * (of_weights - of_row) * node.attributes.real("scale"));
  const Expr dv = parts.product(parts.stacks(parts.kept(weights)), g, true, false);
  return {parts.unstacked(parts.product(dz, k, false, false), s.queries, s.heads),
          parts.unstacked(parts.product(dz, q, true, false), s.keys, s.key_heads),
          parts.unstacked(dv, s.keys, s.key_heads)};
}

// `products` products of rows for each pair of a query and a key that it may see.
template <int products>
double flops_of_attention(const Graph& graph, const Node& node) {
  const AttentionSizes s(graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
  double keys = double(s.keys);
  if (node.attributes.integer("causal")) keys -= double(s.queries - 1) / 2;
  return products * flops_of_products(double(s.samples * s.heads * s.queries) * keys, double(s.size));
}

const OpRegistration attention_ops[] = {
    OpRegistration({ops::attention, infer_attention, attention_gradient, define_attention, {}, flops_of_attention<2>}),
    OpRegistration({ops::attention_grad,
                    infer_attention_grad,
                    nullptr,
                    define_attention_grad,
                    {.writes_rows = 3},
                    flops_of_attention<5>}),
};

}  // namespace

Value attention(Graph& graph, Value q, Value k, Value v, Value lengths, const AttentionOptions& options) {
  Attributes attributes = {{"scale", options.scale}, {"causal", int64_t(options.causal)}};
  if (options.keep < 1)
    attributes =
        attributes.with("keep", options.keep).with("seed", int64_t(options.seed)).with("stream", options.stream);
  if (options.keep < 1 && options.first > 0) attributes = attributes.with("first", options.first);
  std::vector<Value> inputs = {q, k, v};
  if (lengths) inputs.push_back(lengths);
  return graph.add_all(ops::attention, inputs, attributes)[0];
}

}  // namespace neon
