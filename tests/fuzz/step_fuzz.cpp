// Any spec makes a training step or a clear error. The data set is not read: whichever it is, its samples are images.
#include <cstdint>

#include "backends/graph/lower.h"
#include "neon/core/error.h"
#include "neon/spec/spec.h"
#include "neon/train/experiment.h"

namespace {

void make_step(const neon::Setting& root) {
  neon::Experiment experiment(root);
  neon::DataLayout data;
  data.sample = {3, 12, 12};
  data.target = {1};
  data.train_size = 120;
  data.classes = 3;
  neon::StepOptions options = step_options({}, experiment.params);
  if (options.batch > 16) options.batch = 16;
  std::vector<neon::StepGraph> steps;
  for (const neon::TrainedPhase& phase : experiment.phases()) steps.push_back(training_graph(phase, data, options));
  experiment.fit(steps, data);
  for (const neon::TrainedPhase& phase : experiment.phases())
    evaluation_graph(phase, experiment.metrics(), data, 30, options);
  for (const neon::StepGraph& step : steps) lower(step.graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    make_step(neon::spec_from_text(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz").root);
  } catch (const neon::Error& error) {
    NEON_ASSERT(error.kind() == neon::ErrorKind::config || error.kind() == neon::ErrorKind::memory);
  }
  return 0;
}
