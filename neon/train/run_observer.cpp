#include "neon/train/run_observer.h"

#include <algorithm>
#include <cmath>

#include "neon/train/finite.h"
#include "neon/train/rank_agreement.h"

namespace neon {

bool RunObserver::watches(const Progress& step) const {
  if (step.epoch < setup_.phases.back().first) return false;  // callbacks act in the last phase
  return std::ranges::any_of(setup_.experiment.params.callbacks,
                             [&](const auto& callback) { return callback->watches(step); });
}

void RunObserver::watched_step_ended(const Progress& step, double loss_scale, const Program& program) {
  StepEnd end{step, loss_scale, program, report_.metrics_file(), {}};
  for (const auto& callback : setup_.experiment.params.callbacks)
    if (callback->watches(step)) callback->step_end(end);
  report_.messages(end.messages);
}

void RunObserver::watched_move_ended(size_t player, const Program& program) {
  for (const auto& callback : setup_.experiment.params.callbacks) callback->move_end(player, program);
}

void RunObserver::step_ended(int64_t step, double cost) {
  report_.step(step, cost);
  learning_.step(cost, step % setup_.steps_per_epoch, setup_.steps_per_epoch);
}

void RunObserver::player_moved(int64_t step, double cost) { report_.player(step, cost); }

std::string RunObserver::keep() {
  report_.close_metrics_file(RunStatus::killed);
  if (const std::string warning = checkpoints_.write_best(); !warning.empty()) report_.message(warning);
  return kept_text();
}

// The other ranks hear of it from rank 0, which alone saves.
std::string RunObserver::kept_text() const { return setup_.leads() ? checkpoints_.kept_text() : ""; }

void RunObserver::data_failed(const Error& error) { fail(error.kind(), error.what(), keep()); }

void RunObserver::diverged(const std::string& what) {
  std::string kept = keep();
  if (setup_.ranks) kept = first_text(*setup_.ranks, kept);
  fail(ErrorKind::diverged, "the run diverged ", what, kept,
       ". A smaller learning rate, gradient_clip_norm or a warm-up may help");
}

void RunObserver::check_variables(Variables& variables, const StepGraph& graph, const Position& at) {
  variables.to_host();
  std::string found = first_not_finite(variables, graph, setup_.step.dtype);
  if (setup_.ranks) found = first_of_ranks(*setup_.ranks, {found, 0});
  if (found.empty()) return;
  const int64_t last = std::max<int64_t>(at.step - 1, 0);
  diverged(text("in epoch ", last / setup_.steps_per_epoch + 1, ", step ", last % setup_.steps_per_epoch + 1,
                ": after its update ", found));
}

void RunObserver::check_evaluation(const Evaluations& evaluations, const Position& at) {
  const auto& results = evaluations.results();
  const double cost = results.empty() ? 0 : results.at("cost");
  if (std::isfinite(cost)) return;
  const Cost* const measured = setup_.experiment.cost();
  const char* hint = "";
  if (setup_.step.dtype == DType::f16) hint = " (f16 ends at 65504; -d bf16 has the range of f32)";
  if (measured && measured->of_sequences() && !measured->leaves_out_misfits())
    hint = " (labels that do not fit into their steps make it so; cost: {CTC: {infeasible: zero}} leaves them out)";
  diverged(text("by the end of epoch ", at.epoch, ": its weights are finite, its ", evaluations.set_name(), " cost is ",
                not_finite_words(cost), hint));
}

void RunObserver::check_cost(const Position& at) {
  if (const std::string grown = learning_.divergence(); !grown.empty())
    diverged(text("in epoch ", at.epoch + 1, ": ", grown));
}

void RunObserver::epoch_ended(const Position& at, double mean_cost, const Evaluations& evaluations) {
  if (const std::string warning = learning_.end_epoch(at.epoch, mean_cost); !warning.empty()) report_.message(warning);
  const bool in_last_phase = setup_.phase_after(at.epoch - 1).last;
  if (!evaluations.are_of(at) || !in_last_phase || !setup_.experiment.cost()) return;
  const std::string note =
      learning_.evaluated(at.epoch, evaluations.results().at("cost"), mean_cost, evaluations.set_name());
  if (!note.empty()) report_.message(note);
}

void RunObserver::kernel_failed(const KernelFault& fault, uint64_t seed, int64_t steps) {
  report_.left_out();
  report_.log(fault.what());
  report_.close_metrics_file(RunStatus::killed);
  checkpoints_.write_best();
  throw RunFault(fault.message() + kept_text(), fault.hint(), seed, steps);
}

void RunObserver::rank_lost() {
  report_.log("another rank has ended");
  report_.close_metrics_file(RunStatus::killed);
  checkpoints_.write_best();
  throw RankLost(kept_text());
}

}  // namespace neon
