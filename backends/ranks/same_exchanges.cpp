#include "backends/ranks/same_exchanges.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "backends/graph/plan.h"
#include "neon/core/random.h"

namespace neon {

namespace {

bool is_exchange(const LoweredKernel& kernel) { return kernel.is(ops::exchange); }

}  // namespace

void check_same_exchanges(Ranks& ranks, const Lowered& lowered) {
  if (std::ranges::none_of(lowered.kernels, is_exchange)) return;
  std::string all;
  for (const LoweredKernel& kernel : lowered.kernels)
    for (size_t i = 0; is_exchange(kernel) && i < kernel.inputs.size(); ++i) {
      const Value value = kernel.inputs[i];
      const bool behind = i > 0 && lies_behind(lowered, kernel.inputs[i - 1], value);
      all += text(lowered.graph.producer(value).scope, " ", lowered.graph.type(value), behind ? "" : " alone", "\n");
    }
  const uint64_t hash = hash_name(all);
  const double own[] = {double(hash >> 32), double(hash & 0xffffffff)};
  const std::vector<double> of_all = ranks.gather(own);
  for (size_t k = 2; k < of_all.size(); ++k)
    if (of_all[k] != of_all[k % 2])
      fail(ErrorKind::failed, "rank ", k / 2, " exchanges other arrays than rank 0, or in another order, as their ",
           "shares of a batch differ; take a batch that the ranks share evenly (-z)");
}

}  // namespace neon
