#include "neon/train/rank_notes.h"

#include "backends/graph/ops.h"
#include "neon/core/counted.h"

namespace neon {

namespace {

// Whether batch norm takes statistics of each rank's share of a batch.
bool normalises_shares(const RunSetup& setup, const Graph& graph) {
  if (setup.step.shared_statistics) return false;
  for (int i = 0; i < graph.node_count(); ++i)
    if (graph.node(i).op->is(ops::batch_norm)) return true;
  return false;
}

}  // namespace

std::vector<std::string> rank_notes(const RunSetup& setup, const StepGraph& graph, int64_t before) {
  const int64_t now = setup.rank().ranks;
  const bool shares = normalises_shares(setup, graph.graph);
  if (before > 0 && before != now)
    return {text("note: the run had ", counted(before, "rank"), ", now ", now, ": ",
                 shares ? "batch norm takes its mean and variance from other shares of a batch, and results differ"
                        : "results may differ in the last bits")};
  if (before > 0 || now == 1 || !shares) return {};
  return {text("note: batch norm takes its mean and variance from each rank's share of a batch; ",
               "parallel: {batch_norm: all} takes them from the whole batch, as one process does")};
}

}  // namespace neon
