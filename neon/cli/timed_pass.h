// A pass without the update, over the training data in batches that follow each other, for neon bench.
#pragma once
#include <memory>
#include <vector>

#include "models/step_graph.h"
#include "neon/cli/step_time.h"
#include "neon/train/batch_feed.h"
#include "neon/train/experiment.h"

namespace neon {

class TimedPass {
 public:
  enum class Kind : uint8_t {
    forward,    // as in training, up to the cost
    gradients,  // and the gradients of all weights
    inference,  // the outputs that predict gives
  };

  // A rank among several takes its own share of each batch.
  TimedPass(Kind kind, const Experiment& experiment, const Data& data, StepOptions options, Variables& variables,
            const DeviceOptions& device);

  // The time of a batch.
  StepTime time(const Timings& timings);

  // With the same draws at every call.
  double cost_of_first_batch();

  // Runs the next batch; milliseconds of each kernel.
  std::vector<double> time_kernels();

  const Program& program() const { return *program_; }

 private:
  void run();
  void wait();

  Kind kind_;
  bool works_ahead_;
  int64_t step_ = 0;
  std::unique_ptr<BatchFeed> feed_;
  std::unique_ptr<Program> program_;
};

}  // namespace neon
