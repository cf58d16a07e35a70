// Tokens as rows of a trained table, and as vectors of 0 and 1.
#include "layers/default_init.h"
#include "layers/split_linear.h"

namespace neon {

namespace {

// Throws a config error that names the remedy where x is no array of tokens.
void check_tokens(const LayerContext& context, Expr x, const char* layer) {
  if (context.are_tokens(x)) return;
  fail(ErrorKind::config, layer, " takes tokens (T), as a Text data set gives them; its input is ",
       context.sample_shape(x), " of numbers. Leave it out, or make it the net's first layer");
}

// x (N,T) -> (N T)
Value in_one_row(LayerContext& context, Expr x) { return reshape(context.graph, x, {x.shape().elements()}); }

struct EmbeddingParams {
  int64_t embedding_dim = 0, vocab_size = 0;
  Made<Initializer> init;
  bool update = true;
  std::optional<int64_t> pad_idx;
  std::string vectors;
  static void describe(auto&& p) {
    p("embedding_dim", &EmbeddingParams::embedding_dim, "Numbers that stand for a token.", at_least(1), Required{},
      Alias{"nout"});
    p("init", &EmbeddingParams::init, "Initializer of the table. Default: {Gaussian: {scale: 0.02}}.",
      Alias{"weight_init"});
    p("vocab_size", &EmbeddingParams::vocab_size, "Rows of the table. 0: one for each token of the data set.",
      at_least(0));
    p("vectors", &EmbeddingParams::vectors,
      "File of word vectors, in the text format of word2vec or GloVe, plain or gzip. Words of the data set begin with "
      "theirs, others as init says. With update: false they stay.");
    p("update", &EmbeddingParams::update, "Whether the table is trained.");
    p("pad_idx", &EmbeddingParams::pad_idx, "A token that stands for nothing: it gives zeros, and trains no row.",
      at_least(0));
  }
};

struct Embedding : Parametrized<Layer, EmbeddingParams> {
  explicit Embedding(EmbeddingParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::table);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    check_tokens(context, x, "Embedding");
    const int64_t rows = params.vocab_size > 0 ? params.vocab_size : context.tokens, features = params.embedding_dim;
    if (rows < context.tokens)
      fail(ErrorKind::config, "vocab_size is ", rows, ", but the data set has ", context.tokens,
           " tokens; leave vocab_size out to have a row for each");
    if (params.pad_idx && *params.pad_idx >= rows)
      fail(ErrorKind::config, "pad_idx is ", *params.pad_idx, ", but the tokens are 0 to ", rows - 1);
    const Parameter table = {.name = context.layer + "/W",
                             .layer = context.layer,
                             .layer_class = "Embedding",
                             .shape = {rows, features},
                             .initializer = &*params.init,
                             .fan = {.in = rows, .out = features, .rows = rows, .columns = features},
                             .vectors = params.vectors,
                             .token_axis = 0,
                             .trained = params.update};
    const Value tokens = in_one_row(context, x);
    // Word vectors are found by the number of their row, among all.
    const bool split = params.vectors.empty() && splits_table(context, x, rows);
    Expr y = split ? split_lookup(context, context.expr(tokens), table) : looked_up(context, tokens, table);
    if (params.pad_idx) y = y * cast(counts(context.expr(tokens)), context.dtype);
    y = reshape(y, {x.shape()[0], x.shape()[1], features});
    context.mark_sequence(y, x);
    return y;
  }
  bool takes_tokens() const override { return true; }

 private:
  static Expr looked_up(LayerContext& context, Value tokens, const Parameter& table) {
    const Expr rows = context.parameter(table, context.master_dtype);
    return cast(context.expr(gather(context.graph, rows, tokens)), context.dtype);
  }
  // tokens (N T) -> (N T,1): 0 for the padding.
  Expr counts(Expr tokens) const {
    const Expr column = reshape(tokens, {tokens.shape()[0], 1});
    return apply("not_equal", column, column.constant(double(*params.pad_idx)));
  }
};
NEON_REGISTER(Layer, Embedding,
              "A row of a trained table for each token: tokens (T) become (T,embedding_dim). A checkpoint holds "
              "W (vocab_size, embedding_dim).",
              {"LookupTable"});

struct OneHot : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_tokens(context, x, "OneHot");
    Graph& graph = context.graph;
    const Expr each = context.expr(reshape(graph, x, {x.shape()[0], x.shape()[1], 1}));
    const Expr number = context.expr(iota(graph, {1, 1, context.tokens}, 2));
    const Expr y = cast(apply("equal", each, number), context.dtype);
    context.mark_sequence(y, x);
    return y;
  }
  bool takes_tokens() const override { return true; }
};
NEON_REGISTER(Layer, OneHot,
              "A vector for each token, 1 at the token's number and 0 elsewhere: (T) becomes (T,tokens).");

}  // namespace

}  // namespace neon
