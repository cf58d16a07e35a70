#include "layers/rank_sums.h"

namespace neon {

std::vector<Expr> over_ranks(const LayerContext& context, std::vector<Expr> parts) {
  if (context.share.ranks == 1) return parts;
  Graph& graph = parts[0].graph();
  std::vector<Value> own;
  for (const Expr& part : parts) own.push_back(context.share.counts ? part : part * 0.0);
  const std::vector<Value> sums = exchange(graph, own);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = Expr(graph, sums[i]);
  return parts;
}

Expr over_ranks(const LayerContext& context, Expr part) { return over_ranks(context, std::vector{part})[0]; }

}  // namespace neon
