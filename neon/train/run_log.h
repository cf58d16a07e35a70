// The metrics file of a run: which series there are and what goes where. Nothing here stops a run.
#pragma once
#include <memory>

#include "neon/train/experiment.h"
#include "neon/train/metrics_file.h"
#include "neon/train/run_state.h"

namespace neon {

class RunLog {
 public:
  // With a position past the start, what an earlier file of the options' output_file holds before it is kept. The
  // plan's series and attributes are taken from it.
  RunLog(const RunOptions& options, const Experiment& experiment, RunPlan& plan, int64_t eval_freq,
         const Position& position);

  void step(int64_t step, double cost);
  void player(int64_t step, double cost);
  void epoch(const Position& position, const MeanCosts& costs, double rate, double seconds);
  void evaluation(int64_t epoch, const std::map<std::string, double>& results, double seconds);
  MetricsFile& file() { return *file_; }
  bool flush_due() const { return file_->flush_due(); }
  void flush() { file_->flush(); }
  void close(RunStatus status);
  std::vector<std::string> take_messages() { return file_->take_messages(); }

 private:
  int64_t evaluation_grid_;                // epochs between points
  std::vector<std::string> output_costs_;  // series
  std::unique_ptr<MetricsFile> file_;
};

}  // namespace neon
