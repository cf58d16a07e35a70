#include "neon/cli/bucket_lines.h"

#include "neon/train/phase.h"

namespace neon {

std::vector<std::string> bucket_lines(const OpenedSpec& spec, const RunOptions& options, const DataCheck& check) {
  const ExperimentParams& params = spec.experiment->params;
  if (!params.buckets.is_given() || !check.found || check.train_size == 0) return {};
  std::vector<std::string> warnings;  // which the check has printed
  const uint64_t seed = seed_of(*spec.experiment, options);
  DataContext context = data_context(options, spec.folder, seed, warnings);
  context.may_download = false;
  RunOptions on_cpu = options;  // buckets are the same on every device
  on_cpu.backend = "cpu";
  RunSetup setup(*spec.experiment, params.dataset->load(context), on_cpu);
  setup.step.seed = seed;
  Variables variables;
  graphs_of_phases(setup, variables);
  return {"buckets " + padding_text(setup, training_phase(setup, setup.phase_after(0)), setup.step.seed)};
}

}  // namespace neon
