// MultiHeadAttention (Vaswani et al. 2017): every step of a sequence takes a mean of what the steps of the same or of
// another sequence say, weighted by how their keys agree with its query.
#include "backends/graph/attention.h"

#include <cmath>

#include "layers/cells.h"
#include "layers/default_init.h"
#include "layers/projection.h"
#include "layers/split_linear.h"

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
    p("init", &MultiHeadAttentionParams::init, kProductInitSentence, Alias{"weight_init"});
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
    params.init = init_or_default(params.init, WeightUse::product);
    if (params.heads % key_heads())
      fail(ErrorKind::config, "kv_heads ", params.kv_heads, " does not divide heads ", params.heads,
           ": each head of keys is shared by as many heads of queries");
    if (params.rotary && params.head_size % 2)
      fail(ErrorKind::config, "head_size ", params.head_size, " is odd; rotary positions turn pairs of numbers");
  }

  int most_inputs() const override { return 2; }
  std::string idle() const override {
    if (params.rotary || params.rotary_base == MultiHeadAttentionParams{}.rotary_base) return "";
    return text("rotary_base: ", params.rotary_base, " has no effect without rotary: true");
  }
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

  ProjectionOptions part(const char* name, int64_t outputs) const {
    return {name, "MultiHeadAttention", outputs, params.init, params.bias};
  }

  // x (N,T,F) gives the queries, memory (N,S,F') keys and values.
  Expr attend(LayerContext& context, Expr x, Expr memory) const {
    for (const Expr& sequence : {x, memory}) check_sequence(context, sequence, "MultiHeadAttention");
    const int64_t size = head_size(x.shape()[2]), nout = params.nout > 0 ? params.nout : x.shape()[2];
    // A weight of a head is drawn by its place among those of all heads.
    const bool split = params.dropout == 0 && splits_inside(context, x, {params.heads, key_heads()});
    const Expr y = split ? of_split_heads(context, x, memory, size) : of_all_heads(context, x, memory, size);
    const Expr out = as_steps(context, projected(context, y, part("out", nout)));
    const Expr sequence = reshape(out, {x.shape()[0], x.shape()[1], nout});
    context.mark_sequence(sequence, x);
    return sequence;
  }

  // -> (N T, H D)
  Expr of_all_heads(LayerContext& context, Expr x, Expr memory, int64_t size) const {
    const auto heads_of = [&](Expr sequence, const char* name, int64_t heads) -> Value {
      const Shape shape = sequence.shape();
      const Expr y = projected(context, as_steps(context, sequence), part(name, heads * size));
      return reshape(y, {shape[0], shape[1], heads, size});
    };
    const Value q = heads_of(x, "q", params.heads), k = heads_of(memory, "k", key_heads());
    const Value v = heads_of(memory, "v", key_heads());
    const bool keeps = context.place && x.value() == memory.value();
    const Value y = keeps ? of_kept_steps(context, q, k, v) : attended(context, q, k, v, context.lengths(memory));
    return context.expr(reshape(context.graph, y, {x.shape()[0] * x.shape()[1], params.heads * size}));
  }

  // The split features (H D of this rank, N T of all ranks): each rank has some heads.
  Expr of_split_heads(LayerContext& context, Expr x, Expr memory, int64_t size) const {
    const ProjectionOptions of_q = part("q", params.heads * size), of_k = part("k", key_heads() * size);
    const ProjectionOptions of_v = part("v", key_heads() * size);
    const bool one = x.value() == memory.value();
    std::vector<Expr> made = split_projections(context, x, one ? std::vector{of_q, of_k, of_v} : std::vector{of_q});
    if (!one)
      for (const Expr each : split_projections(context, memory, {of_k, of_v})) made.push_back(each);
    const std::vector<Value> lengths = lengths_of_parts(context, context.lengths(memory), made[1]);
    SplitParts out = context.split.of(made[0]);
    for (size_t t = 0; t < out.parts.size(); ++t) {
      const auto heads_of = [&](Expr features, int64_t steps) -> Value {  // (N,T,H,D)
        const Expr own = context.split.of(features).parts[t].x;
        const Shape shape = own.shape();
        return reshape(context.graph, transpose(context.graph, own, {1, 0}),
                       {shape[1] / steps, steps, shape[0] / size, size});
      };
      const int64_t steps = x.shape()[1], keys = memory.shape()[1];
      const Value q = heads_of(made[0], steps), k = heads_of(made[1], keys), v = heads_of(made[2], keys);
      const Value y = attended(context, q, k, v, lengths[t]);
      Expr& part = out.parts[t].x;
      const Value rows = reshape(context.graph, y, {part.shape()[1], part.shape()[0]});
      part = context.expr(transpose(context.graph, rows, {1, 0}));
    }
    return context.split.add(std::move(out));
  }

  AttentionOptions options_of(const LayerContext& context, int64_t size) const {
    AttentionOptions out{.scale = 1 / std::sqrt(double(size)), .causal = params.causal};
    if (!context.training || params.dropout == 0) return out;
    out.keep = 1 - params.dropout;
    out.seed = context.seed;
    out.stream = context.layer + "/dropout";
    out.first = context.share.first;
    return out;
  }

  Value turned(LayerContext& context, Value x) const {
    return params.rotary ? rotary(context.graph, x, context.place, params.rotary_base) : x;
  }

  // q (N,T,H,D), k and v (N,S,K,D) -> (N,T,H,D)
  Value attended(LayerContext& context, Value q, Value k, Value v, Value lengths) const {
    const AttentionOptions options = options_of(context, context.graph.shape(q)[3]);
    const Value queries = turned(context, q), keys = turned(context, k);
    return attention(context.graph, queries, keys, v, lengths, options);
  }

  // The same of texts that go on: the steps up to this one are all that it may see.
  Value of_kept_steps(LayerContext& context, Value q, Value k, Value v) const {
    Graph& graph = context.graph;
    AttentionOptions options = options_of(context, graph.shape(q)[3]);
    options.causal = false;
    const Value queries = turned(context, q);
    const Expr keys = kept_steps(context, context.layer + "/keys", context.expr(turned(context, k)));
    const Expr values = kept_steps(context, context.layer + "/values", context.expr(v));
    const Value lengths = cast(graph, context.expr(cast(graph, context.place, DType::f32)) + 1.0, DType::i32);
    return attention(graph, queries, keys, values, lengths, options);
  }
};
NEON_REGISTER(
    Layer, MultiHeadAttention,
    "Attention over the steps of a sequence (T,F) (Vaswani et al. 2017): softmax(q k' / sqrt(head_size)) v for each "
    "head, then W_out. With inputs: [x, memory], x gives queries, and memory keys and values. A checkpoint holds W_q, "
    "W_k, W_v and W_out, as (outputs, inputs).");

}  // namespace

}  // namespace neon
