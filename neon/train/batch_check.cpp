// The number of samples in a step: the default for small sets, and numbers that cannot be trained with.
#include <algorithm>

#include "backends/graph/ops.h"
#include "neon/core/counted.h"
#include "neon/train/experiment.h"

namespace neon {

void Experiment::fit_batch(const RunOptions& options, int64_t train_size) {
  if (!options.batch_size && !places_.contains("batch_size") && train_size > 0)
    params.batch_size = std::min(params.batch_size, train_size);
}

namespace {

// About the size of the batch: the message begins with the option that gave it, or is about the key of the spec.
template <typename... Parts>
[[noreturn]] void refuse_batch(const RunOptions& options, int64_t batch, const Parts&... parts) {
  if (options.batch_size) fail(ErrorKind::config, "-z ", batch, parts...);
  fail_about("batch_size", batch, parts...);
}

}  // namespace

void check_batch(const RunOptions& options, const StepOptions& step, const DataLayout& layout) {
  if (step.batch > layout.train_size)
    refuse_batch(options, step.batch, " is larger than the training set of ", counted(layout.train_size, "sample"),
                 "; give ", layout.train_size, " or less");
  if (step.batch == 1 && mixes(step))
    fail_about("augment", "mixes each image with its neighbour in the batch, and a batch has one; give a larger ",
               "batch_size, or leave out Mixup and CutMix");
}

namespace {

// The first layer whose batch norm sees one value of each feature in each sample; empty without one.
std::string normalised_over_samples(const Graph& graph, int64_t batch) {
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    if (!node.op->is(ops::batch_norm)) continue;
    if (graph.shape(node.inputs[0]).elements() == batch * graph.shape(node.outputs[1]).elements()) return node.scope;
  }
  return "";
}

// The fewest samples that a rank computes of the first `whole` of a batch.
int64_t fewest_of_ranks(int64_t whole, int64_t batch, bool streams, RankOf of) {
  return std::ranges::min(counts_of_ranks(share_of(whole, streams ? batch : whole, of)));
}

// The batch size nearest to `batch` whose last batch of an epoch is whole, or at least half of one, and gives no rank
// one sample. The batch itself gives each more, and so do all samples.
int64_t even_batch(int64_t batch, const DataLayout& layout, RankOf of) {
  for (int64_t distance = 1;; ++distance)
    for (const int64_t other : {batch + distance, batch - distance}) {
      if (other < 2 || other > layout.train_size || fewest_of_ranks(other, other, layout.streams, of) < 2) continue;
      const int64_t left = layout.train_size % other;
      if (left == 0 || (2 * left >= other && fewest_of_ranks(left, other, layout.streams, of) > 1)) return other;
    }
}

}  // namespace

void check_last_batch(const RunOptions& options, const StepGraph& full, int64_t samples, const StepOptions& step,
                      const DataLayout& layout, RankOf of) {
  const int64_t left = layout.train_size % step.batch;
  const bool apart = of.ranks > 1 && !step.shared_statistics;  // each rank has statistics of its own
  const auto fewest = [&](int64_t whole) {
    return apart ? fewest_of_ranks(whole, step.batch, layout.streams, of) : whole;
  };
  if (left == 0 || fewest(left) > 1 || fewest(step.batch) < 2) return;
  const std::string layer = normalised_over_samples(full.graph, samples);
  if (layer.empty()) return;
  const int64_t other = even_batch(step.batch, layout, apart ? of : RankOf()), of_other = layout.train_size % other;
  refuse_batch(options, step.batch, ": of ", layout.train_size, " training samples the last batch of an epoch has ",
               left, left > 1 ? text(", and one of ", of.ranks, " devices has 1 of these") : "",
               ", of which batch norm in ", layer,
               " would see one value of each feature: its variance is 0, and nothing would be learnt; give ", other,
               ", ", of_other ? text("whose last batch has ", of_other) : "which leaves none over",
               left > 1 ? ", or parallel: {batch_norm: all}" : "");
}

}  // namespace neon
