#include "neon/train/rank_step.h"

#include <algorithm>
#include <set>

#include "neon/core/counted.h"
#include "neon/core/key_error.h"

namespace neon {

RankOf rank_of(const StepOptions& step, int rank, int ranks) { return {rank, ranks, mixes(step) ? 2 : 1}; }

int64_t batch_of_evaluation(const DataLayout& layout, const StepOptions& run, int64_t size, int ranks) {
  const int64_t batch = std::min(run.batch, size);
  return layout.streams ? batch : std::max<int64_t>(batch, ranks);
}

StepGraph step_of_rank(const TrainedPhase& phase, const DataLayout& layout, const StepOptions& run,
                       const RankStep& of) try {
  StepOptions options = run;
  options.share = share_of(of.batch, layout.streams ? run.batch : of.batch, of.of);
  options.batch = options.share.count;
  options.weight = double(of.batch) / double(run.batch);
  options.streams = share_of(run.batch, run.batch, of.of).count;
  options.player = of.player;
  options.updates = run.updates && of.updates;
  return training_graph(phase, layout, options);
} catch (const KeyError&) {
  throw;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::config || of.batch == run.batch) throw;
  fail(error.kind(), error.what(), " (in the last batch of an epoch, of ", counted(of.batch, "sample"),
       of.of.ranks > 1 ? text(" for ", of.of.ranks, " devices)") : ")");
}

namespace {

// The first of the ranks whose shares of a batch have the same size.
std::vector<RankOf> unlike_ranks(int64_t batch, int64_t places, const RankOf& first) {
  std::set<std::pair<int64_t, bool>> sizes;
  std::vector<RankOf> out;
  for (RankOf of = first; of.rank < of.ranks; ++of.rank) {
    const BatchShare share = share_of(batch, places, of);
    if (sizes.insert({share.count, share.counts}).second) out.push_back(of);
  }
  return out;
}

}  // namespace

void check_steps_of_ranks(const Experiment& experiment, const DataLayout& layout, const StepOptions& run, int ranks,
                          const std::vector<int64_t>& sets) {
  const RankOf first = rank_of(run, 0, ranks);
  const bool sized = layout.train_size >= run.batch;  // otherwise nobody knows how many samples there are
  const int64_t left = sized ? layout.train_size % run.batch : 0;
  for (const TrainedPhase& phase : experiment.phases()) {
    for (const int64_t batch : {run.batch, left}) {
      if (batch == 0) continue;
      for (const RankOf& of : unlike_ranks(batch, layout.streams ? run.batch : batch, first)) {
        step_of_rank(phase, layout, run, {batch, of});
        if (sums_apart(run, ranks)) step_of_rank(phase, layout, run, {batch, of, 0, false});
      }
    }
    for (const int64_t size : sets) {
      if (size == 0) continue;
      const int64_t batch = batch_of_evaluation(layout, run, size, ranks);
      for (const RankOf& of : unlike_ranks(batch, batch, {0, ranks})) {
        StepOptions options = run;
        options.share = share_of(batch, batch, of);
        options.batch = options.share.count;
        evaluation_graph(phase, experiment.metrics(), layout, size, options);
      }
    }
  }
}

}  // namespace neon
