#include "neon/train/evaluations.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "datasets/stratify.h"
#include "neon/core/key_error.h"

namespace neon {

namespace {

// An evaluation is a forward pass, about a third of a step: below a tenth of the time it is worth it after every epoch.
constexpr double kCheapShare = 0.3;

// The training samples that a spec wants to be evaluated: of each class in proportion, the same in every run. Samples
// that go on one from the other are the first ones.
Split evaluated_samples(const RunSetup& setup) {
  Split out;
  const Split& from = setup.data.train;
  const int64_t count = std::min(setup.experiment.params.train_metrics, from.size());
  if (count == 0) return out;
  const bool streamed = from.reader || from.rows;
  out.stays_on_host = from.stays_on_host;
  const bool of_one_row = from.targets.empty() || from.targets.shape()[0] == from.size();
  if (setup.data.rules >= kRulesOfTargetClasses && !setup.data.streams && of_one_row && count < from.size()) {
    const GroupedSamples samples = grouped_samples(from, setup.data, setup.data.rules);
    std::vector<int64_t> rows = order_by_class(samples.labels, samples.classes, count, 0, "train_metrics");
    rows.erase(rows.begin(), rows.end() - count);
    std::ranges::sort(rows);
    if (streamed) return rows_of(from, rows);
    out.inputs = take_rows(from.inputs, rows);
    if (!from.targets.empty()) out.targets = take_rows(from.targets, rows);
    return out;
  }
  if (streamed) {
    std::vector<int64_t> rows(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), int64_t(0));
    return rows_of(from, rows);
  }
  out.inputs = from.inputs.rows(0, count);
  if (!from.targets.empty()) out.targets = from.targets.rows(0, from.targets.shape()[0] / from.size() * count);
  return out;
}

}  // namespace

Evaluations::Evaluations(const RunSetup& setup, const PhaseSpan& phase, Variables& variables,
                         const DeviceOptions& device)
    : setup_(setup), of_training_(evaluated_samples(setup)) {
  begin_phase(phase, variables, device);
}

void Evaluations::begin_phase(const PhaseSpan& phase, Variables& variables, const DeviceOptions& device) {
  const auto evaluator_of = [&](const EvaluatedSet& set) {
    return std::make_unique<Evaluator>(setup_.experiment, *phase.phase, setup_.layout, set, setup_.step, variables,
                                       setup_.step.ema_decay > 0, device);
  };
  forget();
  const EvaluatedSet now = set_during_training(setup_.data), last = set_at_end(setup_.data);
  if (now.split.size() > 0) during_ = evaluator_of(now);
  if (of_training_.size() > 0) training_ = evaluator_of({of_training_, "training"});
  if (&last.split != &now.split) at_end_evaluator_ = evaluator_of(last);
}

void Evaluations::settle_frequency(bool needed, std::vector<std::string>& notes) {
  const int64_t size = setup_.layout.train_size, passed = any() ? during_->samples_passed() : 0;
  const bool each = needed || double(passed) < kCheapShare * double(size);
  if (!setup_.options.eval_freq && !each && setup_.epochs > 1)
    notes.push_back(text("evaluated after the last epoch only: an evaluation passes ", passed, " samples, an epoch ",
                         size, "; --eval_freq 1 evaluates after each"));
  frequency_ = setup_.options.eval_freq.value_or(each ? 1 : setup_.epochs);
}

bool Evaluations::due_after(int64_t epoch) const {
  const auto ends = [&](const PhaseSpan& span) { return span.epochs > 0 && epoch == span.first + span.epochs; };
  return any() && (epoch % frequency_ == 0 || std::ranges::any_of(setup_.phases, ends));
}

Evaluations::Results Evaluations::run(int64_t epoch) {
  Results results = during_->run();
  if (results.empty()) return results;
  if (training_) {
    const Results more = training_->run();
    if (more.empty()) return {};
    for (const auto& [name, value] : more) results[kOfTraining + name] = value;
  }
  results_ = results;
  epoch_ = epoch;
  finite_ = std::isfinite(results.at("cost"));
  return results;
}

bool Evaluations::run_at_end() {
  if (!at_end_evaluator_) return true;
  at_end_ = at_end_evaluator_->run();
  return !at_end_.empty();
}

void Evaluations::repeat() {
  for (Evaluator* const evaluator : {during_.get(), at_end_evaluator_.get()})
    if (evaluator) evaluator->run();
}

}  // namespace neon
