#include "layers/split_linear.h"

#include "backends/graph/rank_rows.h"

namespace neon {

namespace {

// How many rows of an array each rank has, where there are so many for this rank's samples.
RankRows rows_of(const BatchShare& share, int64_t own) {
  RankRows out{counts_of_ranks(share), share.of.rank};
  for (int64_t& rows : out.rows) rows *= own / share.count;
  return out;
}

}  // namespace

bool is_split(const LayerContext& context, Expr x, int64_t nout) {
  const BatchShare& share = context.share;
  if (!context.split_dense || share.ranks == 1 || context.is_sequence(x)) return false;
  if (context.sharing.concerns(context.layer) || context.passed || x.shape()[0] % share.count) return false;
  return nout % share.ranks == 0;
}

Expr split_product(LayerContext& context, Expr x, Parameter parameter) {
  const BatchShare& share = context.share;
  const RankRows samples = rows_of(share, x.shape()[0]);
  const int64_t nout = parameter.shape[0], own = nout / share.ranks;
  parameter.all_rows = nout;
  parameter.first_row = own * share.of.rank;
  parameter.shape = parameter.shape.with(0, own);
  const Expr weight = context.parameter(std::move(parameter));
  Graph& graph = context.graph;
  const Value of_all = all_gather(graph, x, samples);
  const Value features = matmul(graph, of_all, weight, false, true);
  const Value parts = columns_to_rows(graph, features, samples);  // (ranks, n, own)
  return context.expr(reshape(graph, transpose(graph, parts, {1, 0, 2}), {x.shape()[0], nout}));
}

}  // namespace neon
