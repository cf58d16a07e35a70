// The number of samples in a step: the default for small sets, and numbers that cannot be trained with.
#include <algorithm>

#include "backends/graph/ops.h"
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
    refuse_batch(options, step.batch, " is larger than the training set of ", layout.train_size, " samples; give ",
                 layout.train_size, " or less");
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

// The batch size nearest to `batch` whose last batch of an epoch is whole, or at least half of one, and not of 1.
int64_t even_batch(int64_t batch, int64_t samples) {
  for (int64_t distance = 1;; ++distance)
    for (const int64_t other : {batch + distance, batch - distance}) {
      if (other < 2 || other > samples) continue;
      const int64_t left = samples % other;
      if (left == 0 || (left > 1 && 2 * left >= other)) return other;
    }
}

}  // namespace

void check_last_batch(const RunOptions& options, const StepGraph& full, const StepOptions& step,
                      const DataLayout& layout) {
  if (step.batch < 2 || layout.train_size % step.batch != 1) return;
  const std::string layer = normalised_over_samples(full.graph, step.batch);
  if (layer.empty()) return;
  const int64_t other = even_batch(step.batch, layout.train_size), left = layout.train_size % other;
  refuse_batch(options, step.batch, ": of ", layout.train_size,
               " training samples the last batch of an epoch has 1, of which batch norm in ", layer,
               " would see one value of each feature: its variance is 0, and nothing would be learnt; give ", other,
               ", ", left ? text("whose last batch has ", left) : "which leaves none over");
}

}  // namespace neon
