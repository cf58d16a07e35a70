// Running the graphs of a net over a data set in memory, as the trainer does.
#pragma once
#include "backends/device/device.h"
#include "models/step_graph.h"

namespace neon_test {

// Inputs (n, features) and targets: numbers (n, K), or i32 labels (n, 1) with `classes` above 0; none where each sample
// is its own target. Inputs may be tokens (n,T), i32 below `tokens` with -1 behind the last, or with `sequence` steps
// (n,T,F) with NaN behind the last. Labels (n,T) are then of steps, or of the whole sequence with `label_of`;
// `end_class` is the label that ends those of a sample.
struct NetData {
  neon::Tensor inputs, targets;
  int64_t classes = 0, tokens = 0, end_class = -1;
  bool sequence = false, streams = false;
  neon::LabelOf label_of = neon::LabelOf::step;
  neon::DataLayout layout() const;
};

neon::Network network_of(const neon::Setting& layers);

class TrainingRun {
 public:
  TrainingRun(const neon::Network& network, const neon::Cost& cost, const neon::Optimizer& optimizer,
              const NetData& data, const neon::StepOptions& options,
              const neon::DeviceOptions& device = {.program = {.threads = 1}});
  // One step over these samples: rates by schedule, then the step. Returns the cost.
  double step(std::vector<int32_t> samples, const neon::Progress& at, bool apply = true);
  bool finite() const { return program_->output("finite").at(0) == 1; }
  neon::Variables variables;
  neon::StepGraph graph;
  double loss_scale = 1;
  bool streams_begin = true;  // in the next step: states that are carried are 0

 private:
  std::unique_ptr<neon::Program> program_;
  std::vector<int32_t> samples_;
  uint64_t runs_ = 0;
  int64_t updates_ = 0, accumulate_;
};

}  // namespace neon_test
