// MultiHeadAttention (Vaswani et al. 2017): every step of a sequence takes a mean of what the steps of the same or of
// another sequence say, weighted by how their keys agree with its query.
#include "backends/graph/attention.h"

#include <cmath>

#include "layers/cells.h"
#include "layers/projection.h"

namespace neon {

namespace {

struct MultiHeadAttentionParams {
  int64_t heads = 0, kv_heads = 0, head_size = 0, nout = 0;
  Made<Initializer> init, bias;
  bool causal = false, rotary = false;
  double rotary_base = 10000, dropout = 0;
  static void describe(auto&& p) {
    p("heads", &MultiHeadAttentionParams::heads, "Number of heads: each has queries, and weights, of its own.",
      at_least(1), Required{});
    p("kv_heads", &MultiHeadAttentionParams::kv_heads,
      "Heads of keys and values, each shared by as many heads of queries; must divide heads. 0: as many as heads.",
      at_least(0));
    p("head_size", &MultiHeadAttentionParams::head_size,
      "Numbers of a query, key or value of a head. 0: the features of a step divided by heads.", at_least(0));
    p("nout", &MultiHeadAttentionParams::nout, "Outputs of a step. 0: as many as its features.", at_least(0),
      Alias{"output_size"});
    p("init", &MultiHeadAttentionParams::init, "Initializer of the weights, as in init: GlorotUniform.",
      Alias{"weight_init"}, Required{});
    p("bias", &MultiHeadAttentionParams::bias,
      "Initializer of the biases of queries, keys, values and outputs. Without it the layer has no biases.");
    p("causal", &MultiHeadAttentionParams::causal,
      "Whether a step sees only itself and the steps before it, as in models that predict the next step.");
    p("rotary", &MultiHeadAttentionParams::rotary,
      "Whether queries and keys are turned by their positions (Su et al. 2021): then weights depend on distances. "
      "Numbers i and i + head_size / 2 of a head are a pair, as in GPT-NeoX; the paper pairs neighbours.");
    p("rotary_base", &MultiHeadAttentionParams::rotary_base,
      "Base of the angles of rotary positions: pair i turns by base^(-2 i / head_size) from step to step.", above(1));
    p("dropout", &MultiHeadAttentionParams::dropout,
      "Share of the weights that training sets to 0 at random; it divides the others by 1 - dropout.", half_open(0, 1));
  }
};

struct MultiHeadAttention : Parametrized<Layer, MultiHeadAttentionParams> {
  explicit MultiHeadAttention(MultiHeadAttentionParams given) : Parametrized(std::move(given)) {
    if (params.heads % key_heads())
      fail(ErrorKind::config, "kv_heads ", params.kv_heads, " does not divide heads ", params.heads,
           ": each head of keys is shared by as many heads of queries");
    if (params.rotary && params.head_size % 2)
      fail(ErrorKind::config, "head_size ", params.head_size, " is odd; rotary positions turn pairs of numbers");
  }

  int most_inputs() const override { return 2; }
  bool has_own_library() const override { return true; }
  Sight sight() const override { return params.causal ? Sight::kept : Sight::any; }
  Expr forward(LayerContext& context, Expr x) const override { return attend(context, x, x); }
  Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const override {
    if (inputs.size() == 1) return forward(context, inputs[0]);
    const char* one_sequence = params.causal ? "causal" : params.rotary ? "rotary" : nullptr;
    if (one_sequence)
      fail(ErrorKind::config, one_sequence, ": true compares positions within one sequence, but `inputs` has two; ",
           "leave it out, or give one input");
    return attend(context, inputs[0], inputs[1]);
  }

 private:
  int64_t key_heads() const { return params.kv_heads > 0 ? params.kv_heads : params.heads; }

  int64_t head_size(int64_t features) const {
    if (params.head_size > 0) return params.head_size;
    if (features % params.heads)
      fail(ErrorKind::config, "MultiHeadAttention: ", features, " features do not go into ", params.heads,
           " heads evenly; give heads that divide them, or head_size");
    const int64_t size = features / params.heads;
    if (params.rotary && size % 2)
      fail(ErrorKind::config, "MultiHeadAttention: heads have ", size,
           " numbers each, an odd number; rotary positions turn pairs, so give fewer heads or head_size");
    return size;
  }

  // The steps of x (N,T,F) as queries (N,T,H,D), or as keys or values.
  Expr heads_of(LayerContext& context, Expr x, const char* part, int64_t heads, int64_t size) const {
    const Shape shape = x.shape();
    const Expr rows = reshape(x, {shape[0] * shape[1], shape[2]});
    const Expr y = projected(context, rows, {part, "MultiHeadAttention", heads * size, params.init, params.bias});
    return reshape(y, {shape[0], shape[1], heads, size});
  }

  // x (N,T,F) gives the queries, memory (N,S,F') keys and values.
  Expr attend(LayerContext& context, Expr x, Expr memory) const {
    for (const Expr& sequence : {x, memory}) check_sequence(context, sequence, "MultiHeadAttention");
    const Shape shape = x.shape();
    const int64_t size = head_size(shape[2]), nout = params.nout > 0 ? params.nout : shape[2];
    Graph& graph = context.graph;
    Value q = heads_of(context, x, "q", params.heads, size), k = heads_of(context, memory, "k", key_heads(), size);
    Value v = heads_of(context, memory, "v", key_heads(), size);
    if (params.rotary)
      q = rotary(graph, q, context.place, params.rotary_base), k = rotary(graph, k, context.place, params.rotary_base);
    Value lengths = context.lengths(memory);
    AttentionOptions options{.scale = 1 / std::sqrt(double(size)), .causal = params.causal};
    if (context.place && x.value() == memory.value()) {
      // The steps up to this one are all that it may see.
      k = kept_steps(context, context.layer + "/keys", context.expr(k));
      v = kept_steps(context, context.layer + "/values", context.expr(v));
      lengths = cast(graph, context.expr(cast(graph, context.place, DType::f32)) + 1.0, DType::i32);
      options.causal = false;
    }
    if (context.training && params.dropout > 0) {
      options.keep = 1 - params.dropout;
      options.seed = context.seed;
      options.stream = context.layer + "/dropout";
      options.first = context.share.first;
    }
    const Value y = attention(graph, q, k, v, lengths, options);
    const Expr rows = context.expr(reshape(graph, y, {shape[0] * shape[1], params.heads * size}));
    const Expr out = projected(context, rows, {"out", "MultiHeadAttention", nout, params.init, params.bias});
    const Expr sequence = reshape(out, {shape[0], shape[1], nout});
    context.mark_sequence(sequence, x);
    return sequence;
  }
};
NEON_REGISTER(
    Layer, MultiHeadAttention,
    "Attention over the steps of a sequence (T,F) (Vaswani et al. 2017): softmax(q k' / sqrt(head_size)) v for each "
    "head, then W_out. With inputs: [x, memory], x gives queries, and memory keys and values. A checkpoint holds W_q, "
    "W_k, W_v and W_out, as (outputs, inputs).");

}  // namespace

}  // namespace neon
