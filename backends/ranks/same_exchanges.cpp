#include "backends/ranks/same_exchanges.h"

#include <algorithm>

#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "backends/graph/plan.h"
#include "backends/graph/rank_rows.h"
#include "neon/core/random.h"

namespace neon {

namespace {

bool is_exchange(const LoweredKernel& kernel) { return kernel.traits().exchanges; }

// Describes a kernel that moves rows by all that ranks must have alike: not how many rows are its own.
std::string moved_rows(const LoweredKernel& kernel, const Graph& graph) {
  std::string out;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Shape& shape = graph.shape(kernel.inputs[i]);
    out += text(kernel.op->name, " ", kernel.scope, " ", graph.dtype(kernel.inputs[i]), " ",
                shape.slice(kernel.is(ops::all_to_all) ? shape.rank() - 1 : 1, shape.rank()), " of");
    for (const int64_t count : rank_rows(kernel.attributes, i, kernel.inputs.size()).rows) out += text(" ", count);
    out += "\n";
  }
  return out;
}

// The same of a kernel that sums arrays.
std::string summed_arrays(const LoweredKernel& kernel, const Lowered& lowered) {
  std::string out;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Value value = kernel.inputs[i];
    const bool behind = i > 0 && lies_behind(lowered, kernel.inputs[i - 1], value);
    out += text(lowered.graph.producer(value).scope, " ", lowered.graph.type(value), behind ? "" : " alone", "\n");
  }
  return out;
}

}  // namespace

void check_same_exchanges(Ranks& ranks, const Lowered& lowered) {
  if (std::ranges::none_of(lowered.kernels, is_exchange)) return;
  std::string all;
  for (const LoweredKernel& kernel : lowered.kernels)
    if (is_exchange(kernel))
      all += kernel.is(ops::exchange) ? summed_arrays(kernel, lowered) : moved_rows(kernel, lowered.graph);
  const uint64_t hash = hash_name(all);
  const double own[] = {double(hash >> 32), double(hash & 0xffffffff)};
  const std::vector<double> of_all = ranks.gather(own);
  for (size_t k = 2; k < of_all.size(); ++k)
    if (of_all[k] != of_all[k % 2])
      fail(ErrorKind::failed, "rank ", k / 2, " exchanges other arrays than rank 0, or in another order, as their ",
           "shares of a batch differ; take a batch that the ranks share evenly (-z)");
}

}  // namespace neon
