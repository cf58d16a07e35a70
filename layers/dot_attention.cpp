// DotAttention (Luong et al. 2015): each step takes a mean of the steps of another sequence, weighted by how these
// agree with it, and makes its output of both.
#include "backends/graph/attention.h"
#include "layers/cells.h"
#include "layers/default_init.h"
#include "layers/linear.h"
#include "layers/projection.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct DotAttentionParams {
  int64_t nout = 0;
  std::string score = "dot";
  Made<Initializer> init, bias;
  Made<Activation> activation;
  static void describe(auto&& p) {
    p("nout", &DotAttentionParams::nout, "Outputs of a step. 0: as many as its features.", at_least(0),
      Alias{"output_size"});
    p("score", &DotAttentionParams::score,
      "How a step x and a step s of the other sequence agree: dot, their product x s; general, s W_score x.",
      one_of({"dot", "general"}));
    p("init", &DotAttentionParams::init, kProductInitSentence, Alias{"weight_init"});
    p("bias", &DotAttentionParams::bias, "Initializer of the biases. Without it the layer has no biases.");
    p("activation", &DotAttentionParams::activation, "Activation of the outputs. Default: Tanh.");
  }
};

struct DotAttention : Parametrized<Layer, DotAttentionParams> {
  explicit DotAttention(DotAttentionParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::product);
  }
  int most_inputs() const override { return 2; }
  // The encoder's states are all there before the decoder's first step.
  Sight sight() const override { return common.inputs.size() == 2 ? Sight::any : Sight::step; }

  Expr forward(LayerContext& context, Expr x) const override {
    if (!context.memory.value())
      fail(ErrorKind::config,
           "DotAttention takes the states of the encoder, which it has in the decoder of a Seq2Seq; ",
           "elsewhere give it inputs: [x, memory]");
    return attend(context, x, context.memory);
  }
  Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const override {
    return inputs.size() == 1 ? forward(context, inputs[0]) : attend(context, inputs[0], inputs[1]);
  }

 private:
  // x (N,T,F), memory (N,S,M) -> (N,T,nout)
  Expr attend(LayerContext& context, Expr x, Expr memory) const {
    for (const Expr& sequence : {x, memory}) check_sequence(context, sequence, "DotAttention");
    const Shape shape = x.shape(), other = memory.shape();
    const int64_t nout = params.nout > 0 ? params.nout : shape[2];
    const Expr rows = reshape(x, {shape[0] * shape[1], shape[2]});
    Expr query = rows;
    const Made<Initializer> no_bias;
    if (params.score == "general")
      query = projected(context, rows, {"score", "DotAttention", other[2], params.init, no_bias});
    else if (shape[2] != other[2])
      fail(ErrorKind::config, "DotAttention: steps of ", shape[2], " features have no product with those of ", other[2],
           "; give both the same number, or score: general");
    const auto head = [&](Expr sequence) { return reshape(sequence, {other[0], other[1], 1, other[2]}); };
    const Value keys = head(memory);
    const Value mean = attention(context.graph, reshape(query, {shape[0], shape[1], 1, other[2]}), keys, keys,
                                 context.lengths(memory), {.scale = 1});
    const Expr both = beside({reshape(context.expr(mean), {shape[0] * shape[1], other[2]}), rows}, 1);
    const Expr out = projected(context, both, {"out", "DotAttention", nout, params.init, params.bias});
    const Expr sequence = reshape(out, {shape[0], shape[1], nout});
    context.mark_sequence(sequence, x);
    const Expr y = params.activation ? activate(context, sequence, params.activation) : apply("tanh", sequence);
    context.keep_axes(sequence, y);
    return y;
  }
};
NEON_REGISTER(Layer, DotAttention,
              "Attention of a decoder over the encoder's steps s (Luong et al. 2015): activation(W_out [m; x]) for "
              "each step x, m "
              "being the mean of s weighted by softmax(x s). A checkpoint holds W_out (nout, features of s and of x).");

}  // namespace

}  // namespace neon
