#include "neon/cli/kept_outcome.h"

#include "neon/train/class_counts.h"

namespace neon {

namespace {

// Whether outputs can be kept and compared with targets one by one.
bool can_keep(const DataLayout& data, const Split& split) {
  constexpr int64_t kMostNumbers = int64_t(1) << 24, kMostClasses = 4096, kMostValues = 64;
  if (data.target_is_input || (!split.reader && split.targets.empty())) return false;  // an autoencoder
  if (data.label_of != LabelOf::sample || (data.tokens > 0 && data.classes == 0) || split.rows) return false;
  if (data.ragged && split.targets.shape().rank() > 2) return false;  // numbers of steps, some of them padding
  int64_t width = data.classes > 0 ? data.classes : split.targets.elements() / split.size();
  bool classes = data.classes > 0;
  for (const NamedTarget& target : data.targets) {
    classes = classes || target.kind != TargetKind::number;
    width += target.width - target.columns();
  }
  return width <= (classes ? kMostClasses : kMostValues) && width * split.size() <= kMostNumbers;
}

// Whether pixels or steps have classes that can be counted, true and predicted ones.
bool can_count(const DataLayout& data) {
  constexpr int64_t kMostClasses = 256;
  const bool steps = data.label_of == LabelOf::step && data.target_steps == 0 && !data.foretells_tokens();
  return !data.target_is_input && (steps || data.label_of == LabelOf::pixel) && data.classes <= kMostClasses;
}

DataLayout layout_at_end(const Experiment& experiment, const Data& data) {
  return experiment.last_phase().layout(layout_of(data));
}

}  // namespace

KeptOutcome::KeptOutcome(const Experiment& experiment, const Data& data, const EvaluatedSet& set, bool costs)
    : outputs_(experiment.cost() && can_keep(layout_at_end(experiment, data), set.split)),
      counts_(experiment.cost() && can_count(layout_at_end(experiment, data))),
      costs_(costs && experiment.cost() && (outputs_ ? !data.targets.empty() : data.is_image())),
      split_(set.split) {}

std::vector<const Metric*> KeptOutcome::metrics() const {
  static const KeptOutputs kept;
  static const ClassCounts counted;
  static const SampleCosts cost;
  std::vector<const Metric*> out;
  if (outputs_) out.push_back(&kept);
  else if (counts_) out.push_back(&counted);
  if (costs_) out.push_back(&cost);
  return out;
}

Outcome KeptOutcome::outputs_of(const Sums& sums) const {
  return outputs_ && !sums.empty() ? outcome_of(sums[0]) : Outcome();
}

std::vector<double> KeptOutcome::costs_of(const Sums& sums) const {
  std::vector<double> out;
  if (!costs_ || sums.empty()) return out;
  const std::vector<double>&costs = sums.back()[0], &weights = sums.back()[1];
  for (size_t i = 0; i < size_t(split_.size()); ++i) {
    if (weights[i] == 0) return {};
    out.push_back(costs[i]);
  }
  return out;
}

std::vector<TargetOutcome> KeptOutcome::targets(const Data& data, const OutputSpecs& outputs, const Sums& sums) const {
  if (!has_report() || sums.empty()) return {};
  if (!counts_) {
    Outcome all = outputs_of(sums);
    if (all.size() == split_.size()) all.numbers = split_.numbers;
    return outcomes_by_target(data, outputs, all);
  }
  return {{"", TargetKind::classes, data.class_names, {}, confusion_of(sums[0]), data.label_of}};
}

}  // namespace neon
