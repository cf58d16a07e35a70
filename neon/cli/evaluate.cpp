// neon eval CHECKPOINT: cost and metrics of stored weights on the test set.
#include <cstdio>

#include "neon/cli/session.h"
#include "neon/cli/verbs.h"
#include "neon/train/evaluator.h"

namespace neon {

int run_eval(const CommandLine& line) {
  const std::string& path = only_operand(line, "neon eval CHECKPOINT");
  const OpenedRun opened = open_checkpoint(line, path);
  Setting merged = write_params(opened.run.options);
  *merged.find("backend") = Setting::scalar("");  // not that of the training
  for (const auto& entry : line.run_options.entries) *merged.find(entry.key) = entry.value;
  RunOptions options = read_params<RunOptions>(merged);
  const Experiment& experiment = *opened.experiment;
  choose_backend(options, experiment);
  const Data data = load_data(experiment, options, ".");
  if (data.test.size() == 0) fail(ErrorKind::data, "the data set has no test samples to evaluate on");
  const DataLayout layout = layout_of(data);
  Variables variables;
  StepOptions step = step_options(options, experiment, layout);
  const bool running_means = experiment.params.ema > 0;
  // Declares the variables; their values come from the file.
  Evaluator evaluator(experiment, layout, data.test, step, variables, running_means, device_options(options));
  if (running_means)
    for (const NamedTensor& named : opened.run.file.tensors)
      variables.declare(named.name, named.tensor.dtype(), named.tensor.shape());
  restore_variables(opened.run.file, path, variables, true);
  variables.to_device();
  const auto results = evaluator.run();
  if (line.format == "json") {
    std::string out = "{";
    for (const auto& [name, value] : results) out += text(out.size() > 1 ? ", " : "", "\"", name, "\": ", value);
    std::printf("%s}\n", out.c_str());
  } else {
    std::printf("test: %s  (%s, %lld samples)\n", results_text(results).c_str(), data.source.c_str(),
                (long long)data.test.size());
  }
  return 0;
}

}  // namespace neon
