// Any text is a spec or a clear error; what was read can be written and read back, and makes a training step or a clear
// error. The data set is not read: whichever it is, its samples are images.
#include <cstdint>

#include "backends/graph/lower.h"
#include "neon/core/error.h"
#include "neon/spec/spec.h"
#include "neon/spec/yaml.h"
#include "neon/train/experiment.h"
#include "tests/spec/trees.h"

namespace {

void check_round_trip(const neon::Setting& root) {
  NEON_ASSERT(same_tree(root, neon::read_yaml_text(neon::write_yaml(root), "again")));
}

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
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Each within its own try: what the checks themselves throw is a find.
  neon::Setting tree;
  neon::Spec spec;
  try {
    tree = neon::read_yaml_text(text, "fuzz");
  } catch (const neon::Error& error) {
    NEON_ASSERT(error.kind() == neon::ErrorKind::config);
  }
  try {
    spec = neon::spec_from_text(text, "fuzz");
  } catch (const neon::Error& error) {
    NEON_ASSERT(error.kind() == neon::ErrorKind::config);
  }
  check_round_trip(tree);
  check_round_trip(spec.root);
  try {
    if (!spec.root.is_null()) make_step(spec.root);
  } catch (const neon::Error& error) {
    NEON_ASSERT(error.kind() == neon::ErrorKind::config || error.kind() == neon::ErrorKind::memory);
  }
  return 0;
}
