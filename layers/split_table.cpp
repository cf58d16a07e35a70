#include "backends/graph/rank_rows.h"
#include "layers/split_linear.h"

namespace neon {

namespace {

// How many tokens each rank has, where there are so many of this rank's samples.
RankRows tokens_of_ranks(const BatchShare& share, int64_t own) {
  RankRows out{counts_of_ranks(share), share.of.rank};
  for (int64_t& tokens : out.rows) tokens *= own / share.count;
  return out;
}

}  // namespace

bool splits_table(const LayerContext& context, Expr x, int64_t rows) {
  const BatchShare& share = context.share;
  if (!context.dense.tables || share.ranks == 1 || context.passed || context.sharing.concerns(context.layer))
    return false;
  return rows >= share.ranks && x.shape()[0] % share.count == 0;
}

Expr split_lookup(LayerContext& context, Expr tokens, Parameter parameter) {
  Graph& graph = context.graph;
  const BatchShare own = share_of(parameter.shape[0], parameter.shape[0], {context.share.of.rank, context.share.ranks});
  parameter.part = {0, own.first, parameter.shape[0]};
  parameter.shape = parameter.shape.with(0, own.count);
  const Expr table = context.parameter(std::move(parameter), context.master_dtype);
  const int64_t count = tokens.shape()[0];
  const RankRows of_ranks = tokens_of_ranks(context.share, count);
  // Exchanges are of floating numbers, and f64 holds every token.
  const Value numbers = reshape(graph, cast(graph, tokens, DType::f64), {count, 1});
  const Expr local = context.expr(all_gather(graph, numbers, of_ranks)) - double(own.first);
  const Expr here = (1.0 - apply("less", local, local.constant(0))) *
                    apply("less", local, local.constant(double(own.count)));  // (tokens of all, 1)
  const Expr row = apply("select", here, local, local.constant(0));
  const Expr found =
      cast(context.expr(gather(graph, table, reshape(graph, cast(graph, row, DType::i32), {of_ranks.all()}))),
           context.dtype);
  const Expr parts = apply("select", cast(here, context.dtype), found, found.constant(0));
  return context.expr(reduce_scatter(graph, parts, of_ranks));
}

}  // namespace neon
