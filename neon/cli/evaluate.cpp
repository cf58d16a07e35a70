// neon eval CHECKPOINT: cost and metrics of stored weights on the test set, or, where it is empty, on the
// validation samples.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "neon/cli/session.h"
#include "neon/cli/stored_places.h"
#include "neon/cli/verb.h"
#include "neon/train/evaluator.h"
#include "neon/train/fingerprint.h"
#include "neon/train/gpu_room.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// An evaluation of other samples is no mistake, but its numbers cannot be compared with the run's.
void note_other_set(const EvaluatedSet& set, const Data& data, const std::string& of_run) {
  const std::string then = part_of(of_run, set.name), now = fingerprint(set.split, set.name, data);
  if (set.split.size() > 0 && !then.empty() && !same_data(then, now))
    print_message(text("note: the ", set.name, " set is not the run's: then ", then, ", now ", now));
}

int run_eval(const CommandLine& line) {
  const std::string& path = only_operand(line);
  const OpenedRun opened = open_checkpoint(line, path);
  check_caffe(line, opened, path);
  const TensorFile weights = sound_weights(opened, path);
  RunOptions options = options_of(line, opened);
  options.rounding = 0;  // of updates alone
  const Experiment& experiment = *opened.experiment;
  const bool asked = choose_backend(line, options, experiment);
  const auto waking = wake_gpu(options, experiment);
  const FormerRun former{opened.run, false, may_fetch(line, options), read_limits(line, opened, path)};
  const Data data = load_data(experiment, options, options.spec_dir, &former);
  const EvaluatedSet set = set_at_end(data);
  note_other_set(set, data, opened.run.position.data);
  if (set.split.size() == 0) fail(ErrorKind::data, "the data set has no test samples to evaluate on");
  const DataLayout layout = layout_of(data);
  Variables variables;
  // Declares the variables; their values come from the file.
  const StepOptions step = step_options(options, experiment.params);
  const auto evaluator = on_device_or_cpu(options, asked, [&] {
    const DeviceOptions device = device_options(options, experiment);
    const auto bytes = [&](int64_t batch) {
      StepOptions smaller = step;
      smaller.batch = batch;
      GpuNeeds needs(with_sequences(device));
      needs.add_evaluation(experiment, layout, set.split, smaller, true);
      return needs.bytes();
    };
    const auto let_go = [&] { variables = {}; };
    let_go();
    return telling_room(
        device, [&] { return std::make_unique<Evaluator>(experiment, layout, set, step, variables, false, device); },
        let_go, {.what = "Batches", .samples = std::min(step.batch, set.split.size()), .bytes = bytes});
  });
  restore_variables(weights, path, variables, true);
  variables.to_device();
  const auto results = evaluator->run();
  for (const std::string& message : left_out_messages(data)) print_message(message);
  if (line.of_verb.format == "json") {
    print_record(nlohmann::json(results).dump());
  } else if (line.of_verb.format == "csv") {
    std::vector<std::string> names, numbers;
    for (const auto& [name, value] : results) names.push_back(name), numbers.push_back(number(value));
    print_record(join(names, ","));
    print_record(join(numbers, ","));
  } else {
    print_result(text(set.name, ": ", results_text(results, experiment, set.name), "  (", data.source, ", ",
                      evaluator->samples_counted(), " samples)"));
  }
  if (!std::isfinite(results.at("cost")))
    fail(ErrorKind::diverged, path, ": the cost on the ", set.name, " set is ", not_finite_words(results.at("cost")));
  return 0;
}

}  // namespace

NEON_VERB(run_eval, "eval", 70, takes_device | takes_data | computes, "CHECKPOINT",
          "print the cost and metrics of a checkpoint on the test set");

}  // namespace neon
