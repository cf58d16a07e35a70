#include "backends/ranks/same_exchanges.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "neon/core/random.h"

namespace neon {

namespace {

bool is_exchange(const LoweredKernel& kernel) { return kernel.is(ops::exchange); }

}  // namespace

void check_same_exchanges(Ranks& ranks, const Lowered& lowered) {
  if (std::ranges::none_of(lowered.kernels, is_exchange)) return;
  std::string all;
  for (const LoweredKernel& kernel : lowered.kernels)
    for (Value value : is_exchange(kernel) ? kernel.inputs : std::vector<Value>())
      all += text(lowered.graph.producer(value).scope, " ", lowered.graph.type(value), "\n");
  const uint64_t hash = hash_name(all);
  const double own[] = {double(hash >> 32), double(hash & 0xffffffff)};
  const std::vector<double> of_all = ranks.gather(own);
  for (size_t k = 2; k < of_all.size(); ++k)
    if (of_all[k] != of_all[k % 2])
      fail(ErrorKind::failed, "rank ", k / 2, " exchanges other arrays than rank 0, or in another order, as their ",
           "shares of a batch differ; take a batch that the ranks share evenly (-z)");
}

}  // namespace neon
