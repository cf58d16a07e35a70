#include "neon/cli/kept_outcome.h"

#include "neon/train/class_counts.h"

namespace neon {

namespace {

// Whether outputs can be kept and compared with targets one by one.
bool can_keep(const Data& data, const EvaluatedSet& set) {
  constexpr int64_t kMostNumbers = int64_t(1) << 24, kMostClasses = 4096, kMostValues = 64;
  if (data.label_of != LabelOf::sample || (data.tokens > 0 && data.classes == 0) || set.split.rows) return false;
  if (data.ragged && set.split.targets.shape().rank() > 2) return false;  // numbers of steps, some of them padding
  if (!set.split.reader && set.split.targets.empty()) return false;       // an autoencoder
  int64_t width = data.classes > 0 ? data.classes : set.split.targets.elements() / set.split.size();
  bool classes = data.classes > 0;
  for (const NamedTarget& target : data.targets) {
    classes = classes || target.kind != TargetKind::number;
    width += target.width - target.columns();
  }
  return width <= (classes ? kMostClasses : kMostValues) && width * set.split.size() <= kMostNumbers;
}

// Whether pixels or steps have classes that can be counted, true and predicted ones.
bool can_count(const Data& data) {
  constexpr int64_t kMostClasses = 256;
  const bool steps = data.label_of == LabelOf::step && data.target_steps == 0 && !data.foretells_tokens();
  return (steps || data.label_of == LabelOf::pixel) && data.classes <= kMostClasses;
}

}  // namespace

KeptOutcome::KeptOutcome(const Data& data, const EvaluatedSet& set)
    : outputs_(can_keep(data, set)), counts_(can_count(data)), split_(set.split) {}

const Metric* KeptOutcome::metric() const {
  static const KeptOutputs kept;
  static const ClassCounts counted;
  if (outputs_) return &kept;
  return counts_ ? &counted : nullptr;
}

std::vector<TargetOutcome> KeptOutcome::targets(const Data& data, const OutputSpecs& outputs,
                                                const std::vector<std::vector<double>>& sums) const {
  if (!counts_) {
    Outcome all = outputs_ ? outcome_of(sums) : Outcome();
    if (all.size() == split_.size()) all.numbers = split_.numbers;
    return outcomes_by_target(data, outputs, all);
  }
  return {{"", TargetKind::classes, data.class_names, {}, confusion_of(sums), data.label_of}};
}

}  // namespace neon
