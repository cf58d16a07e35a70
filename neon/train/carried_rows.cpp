#include "neon/train/carried_rows.h"

namespace neon {

namespace {

bool is_carried(const std::string& name) { return name.ends_with(kCarried) && !belongs_to_evaluation(name); }

BatchShare own_streams(const RunSetup& setup) { return share_of(setup.step.batch, setup.step.batch, setup.rank()); }

}  // namespace

std::map<std::string, Tensor> all_carried_rows(const Variables& variables, const RunSetup& setup) {
  std::map<std::string, Tensor> out;
  if (!setup.ranks) return out;
  const BatchShare share = own_streams(setup);
  for (const auto& [name, own] : variables.all()) {
    if (!is_carried(name)) continue;
    Tensor all(own.dtype(), own.shape().with(0, share.whole));
    if (share.counts) all.rows(share.first, share.count).copy_from(own);
    const Summand rows{all.data(), all.data(), all.elements()};
    setup.ranks->sum(std::span(&rows, 1), all.dtype());  // the rows of others are 0 here
    out.emplace(name, std::move(all));
  }
  return out;
}

TensorFile with_own_rows(const TensorFile& file, const RunSetup& setup) {
  TensorFile out = file;
  if (!setup.ranks) return out;
  const BatchShare share = own_streams(setup);
  for (NamedTensor& named : out.tensors)
    if (is_carried(named.name) && named.tensor.shape().rank() > 0 && named.tensor.shape()[0] == share.whole)
      named.tensor = named.tensor.rows(share.first, share.count);
  return out;
}

}  // namespace neon
