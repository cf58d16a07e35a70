// The ends of an epoch and of a run: evaluations, callbacks, and what is reported of them.
#include <algorithm>

#include "neon/train/clock.h"
#include "neon/train/feature_maps.h"
#include "neon/train/rank_agreement.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

// The results of a set without those that are no numbers for a known cause, which a note says once.
std::map<std::string, double> defined_results(const RunSetup& setup, const char* set, RunReport& report,
                                              std::map<std::string, double> results) {
  for (const auto& [name, why] : undefined_results(results, setup.experiment, text("the ", set, " samples"))) {
    report.message_once("note: " + why);
    results.erase(name);
  }
  return results;
}

}  // namespace

// False: a signal stopped its evaluation. The epoch's end is then still to come, also for a run that goes on.
bool Trainer::end_epoch() {
  Position& at = start_.position;
  const MeanCosts costs = mean_costs(at);
  observer_.check_cost(at);
  if (!tuner_.tune(setup_, *phase_, at, variables_, report_.listener())) return false;
  std::map<std::string, double> results;
  if (evaluations_->due_after(at.epoch + 1)) {
    const double before = now_seconds();
    results = evaluations_->run(at.epoch + 1);
    if (results.empty()) return false;
    report_.evaluation(at.epoch + 1, results, now_seconds() - before);
  }
  const double rate = runner_->rate();  // also where a resumed run makes up for the end of an epoch
  epoch_cost_ = costs.all;
  ++at.epoch;
  at.step_in_epoch = 0;
  at.cost_sum = 0;
  at.output_cost_sums.clear();
  at.counted = 0;
  report_.epoch_metrics(at, costs, rate, results);
  at.epoch_seconds = 0;
  EpochEnd end{at.epoch, costs.all, results, variables_, "", rate};
  const auto& callbacks = setup_.experiment.params.callbacks;
  if (!callbacks.empty() && phase_->last) {
    variables_.to_host();
    for (const auto& callback : callbacks) callback->epoch_end(end);
  }
  if (const std::string why = sheets_.draw(setup_, at, variables_, report_.listener(), end); !why.empty())
    report_.message(text("warning: ", why));
  const char* const set = evaluations_->set_name();
  report_.epoch_line(at, costs,
                     results_text(defined_results(setup_, set, report_, end.results), setup_.experiment, set));
  if (!end.message.empty()) report_.message(end.message);
  observer_.epoch_ended(at, costs.all, *evaluations_);
  if (setup_.ranks) share_left_out(*setup_.ranks, setup_.data.train);
  report_.left_out();
  return true;
}

// False: a signal stopped the last evaluation.
bool Trainer::end_training() {
  for (const auto& callback : setup_.experiment.params.callbacks) {
    std::string message;
    callback->train_end(variables_, message);
    if (message.empty()) continue;
    report_.message(message);
    variables_.to_device();
    checkpoints_.set_current(false);
    evaluations_->forget();
  }
  report_.messages(draw_feature_maps(setup_, graphs_.back(), variables_));
  if (!evaluations_->any()) return true;
  if (evaluations_->results().empty()) evaluations_->run(start_.position.epoch);
  if (evaluations_->results().empty() || !evaluations_->run_at_end()) return false;
  defined_results(setup_, set_at_end(setup_.data).name, report_, evaluations_->at_end());
  return true;
}

RunResult Trainer::result_of(int signal, double seconds) {
  RunResult out;
  out.signal = signal;
  out.in_evaluation = signal && finished();
  if (!checkpoints_.last().empty()) out.files.push_back(checkpoints_.last());
  if (report_.metrics_file() && report_.metrics_file()->is_kept()) out.files.push_back(setup_.options.output_file);
  out.saved = checkpoints_.wanted() && (checkpoints_.current() || !checkpoints_.last().empty());
  out.set = evaluations_->any() ? evaluations_->set_name() : "";
  out.results = evaluations_->results();
  out.at_end = evaluations_->at_end();
  out.cost = epoch_cost_;
  out.position = start_.position;
  if (runner_->feed().reads_ahead() && seconds > 0) out.waiting = runner_->feed().waited() / seconds;
  return out;
}

}  // namespace neon
