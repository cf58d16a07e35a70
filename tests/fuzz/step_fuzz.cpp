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
  const neon::StepGraph step =
      training_graph(experiment.network(), *experiment.params.cost, *experiment.params.optimizer, data, options);
  experiment.fit(step, data);
  evaluation_graph(experiment.network(), &*experiment.params.cost, experiment.metrics(), data, 30, options);
  lower(step.graph);
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
