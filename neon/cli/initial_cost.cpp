#include "neon/cli/initial_cost.h"

#include <algorithm>
#include <cmath>

#include "backends/graph/flops.h"
#include "datasets/class_sizes.h"
#include "neon/cli/data_checks.h"
#include "neon/cli/rehearsal.h"
#include "neon/train/class_names.h"
#include "neon/train/constant_cost.h"
#include "neon/train/learned_images.h"
#include "neon/train/phase.h"
#include "neon/train/progress.h"
#include "neon/train/target_range.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr double kMostBytes = 64 << 20;  // of samples to read, and of a step's values and weights: a check is short
constexpr double kMostWork = 2e9;        // operations of a training step, of which the first cost takes a third
// Up to this work the plain loops of f64 take some hundredths of a second at most, and oneDNN need not be loaded.
constexpr double kLittleWork = 2e8;
constexpr double kFarAbove = 3;

std::vector<std::string> warnings_of_sequences(const Experiment& experiment, const Data& data,
                                               const StepOptions& step) {
  std::vector<std::string> out;
  for (const TrainedPhase& phase : experiment.phases())
    for (const std::string& warning : sequence_warnings(phase, data, layout_of(data), step))
      if (!std::ranges::count(out, warning)) out.push_back(warning);
  return out;
}

}  // namespace

InitialCost initial_cost(const OpenedSpec& spec, const RunOptions& options, const DataCheck& check,
                         const Graph& step_graph, double step_bytes, const std::vector<NamedTensor>& taken) {
  const ExperimentParams& params = spec.experiment->params;
  const double bytes = double(check.input_bytes() + check.target_bytes()) *
                       double(check.train_size + check.test_size + check.validation_size);
  const double work = flops_of(step_graph, 0, step_graph.node_count());
  const bool there = check.found && !check.streamed && check.train_size > 0 && bytes <= kMostBytes;
  const bool little =
      spec.experiment->cost() && params.phases.size() == 0 && step_bytes <= kMostBytes && work <= kMostWork;
  const bool counts = check.class_counts.empty() && (check.classes > 0 || !check.targets.empty());
  const DataLayout layout = layout_of(check);
  const bool ragged = layout.ragged || layout.label_of == LabelOf::sequence;
  if (!there || !(little || counts || ragged)) return {};
  InitialCost out;
  std::vector<std::string> warnings;  // which the check has printed
  const uint64_t seed = seed_of(*spec.experiment, options);
  DataContext context = data_context(options, spec.folder, seed, warnings);
  context.may_download = false;
  Data data = params.dataset->load(context);
  check_blanks(*spec.experiment, data);
  check_target_range(*spec.experiment, data, layout_of(data));
  if (counts) out.class_sizes = class_sizes(data.train, data, data.source);
  if (ragged) out.warnings = warnings_of_sequences(*spec.experiment, data, step_options(options, params));
  if (!little) return out;
  if (!options.model_file.empty()) match_classes_of_weights(data, options.model_file);
  set_normalization(params.normalize, data);
  StepOptions step = spec.experiment->last_phase().options(step_options(options, params));
  step.dtype = work > kLittleWork ? DType::f32 : DType::f64;  // the numbers, not their rounding
  step.rounding = 0;
  step.seed = seed;
  if (step.batch > data.train.size() || learns_from_images(step)) return out;  // learning may take a minute
  OneBatch batch(*spec.experiment, data, step, false, taken);
  const double cost = batch.cost();
  if (!std::isfinite(cost)) {
    const std::string where = batch.not_finite();
    out.lines.push_back(text("note    the cost of the first batch is not finite: a run would end at once",
                             where.empty() ? "" : ": ", where));
    return out;
  }
  const auto constant = cost_of_constant(*spec.experiment, data, batch.graph().outputs.size());
  out.lines.push_back(text("cost    begins at ", cost_text(cost),
                           constant ? text("; ", cost_text(*constant), " for the same answer to every sample") : ""));
  if (!constant || *constant <= 0 || cost <= kFarAbove * *constant) return out;
  // Rare classes put the first cost far above that of their shares, which is no fault of the weights.
  const auto even = cost_of_constant(*spec.experiment, data, batch.graph().outputs.size(), true);
  if (!even || cost > kFarAbove * *even)
    out.lines.push_back(text("note    the first cost is ", formatted("%.1f", cost / *constant),
                             " times that of the same answer to every sample; ",
                             taken.empty() ? "smaller initial weights or normalized inputs may help"
                                           : "the weights may have been trained with other inputs or targets"));
  return out;
}

void print_initial_cost(const InitialCost& cost) {
  for (const std::string& warning : cost.warnings) print_message(warning);
  for (const std::string& line : cost.lines) print_result(line);
}

}  // namespace neon
