#include "neon/train/step_runner.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "neon/train/loss_scale.h"
#include "neon/train/rank_agreement.h"
#include "neon/train/shared_rows.h"
#include "neon/train/signals.h"

namespace neon {

Progress StepRunner::progress(int64_t ahead) const {
  return {position_.epoch, position_.step + ahead, setup_.steps_per_epoch, setup_.epochs};
}

double StepRunner::rate() const {
  return graph().optimizers.empty() ? 0 : graph().optimizers[0]->rate_at(phase_.own(progress(-1)));
}

namespace {

// The weights of all steps of that update, in whole batches.
double weights_together(const RunSetup& setup, int64_t samples, int64_t update) {
  const int64_t group = setup.step.accumulate, first = update * group, steps = setup.steps_per_epoch;
  const int64_t short_ones = (first + group) / steps - first / steps;
  const int64_t missing = steps * setup.step.batch - samples;
  return double(group) - double(short_ones * missing) / double(setup.step.batch);
}

// Whether a watched step ends before a player, which moves in the step `at`, moves again. The watched step may be
// behind the run's end: the run may go on later.
bool is_watched_move(const Phase& phase, const StepObserver& observer, size_t player, Progress at) {
  const int64_t first = at.step, moves = phase.rule->moves_before(int(player), phase.own(at).step + 1);
  for (;; ++at.step) {
    at.epoch = at.step / at.steps_per_epoch;
    const bool watched = observer.watches(at);
    // The rule may have to count all moves: it is asked after 2, 4, 8 ... steps.
    if (!watched && !std::has_single_bit(uint64_t(at.step - first + 1))) continue;
    const bool moved_again = phase.rule->moves_before(int(player), phase.own(at).step + 1) > moves;
    if (watched || moved_again) return watched && !moved_again;
  }
}

// Steps until the next update is done.
int64_t left_of_update(const RunSetup& setup, const Phase& phase, const Progress& at) {
  const int64_t group = setup.step.accumulate;
  return group - phase.own(at).step % group;
}

}  // namespace

// Updates that were done when that step of the phase begins, unless a step until then is skipped. The steps after a
// skipped one run again, and so see the right number.
int64_t StepRunner::updates_before(int64_t step) const {
  const int64_t group = setup_.step.accumulate;
  const int64_t ended = step / group - phase_.own(progress()).step / group;
  return position_.updates + ended - (position_.spoilt && ended > 0 ? 1 : 0);
}

void StepRunner::count_step(bool finite) {
  position_.spoilt = position_.spoilt || !finite;
  ++position_.step;
  ++position_.step_in_epoch;
  if (phase_.own(progress()).step % setup_.step.accumulate) return;
  position_.updates += position_.spoilt ? 0 : 1;
  position_.spoilt = false;
}

void StepRunner::write_record(StepProgram& of, int64_t ahead, size_t player) {
  Program& program = *of.program;
  const Progress at = progress(ahead), in_phase = phase_.own(at);
  const auto& optimizers = of.graph.optimizers;
  for (size_t k = 0; k < optimizers.size(); ++k) program.set_scalar(text("rate/", k), optimizers[k]->rate_at(in_phase));
  const int64_t group = setup_.step.accumulate, now = in_phase.step;
  const int64_t updates = player == 0 ? updates_before(now) : phase_.rule->moves_before(int(player), now);
  program.set_scalar("update", double(updates + 1));
  program.set_scalar("apply", (now + 1) % group == 0 ? 1 : 0);
  program.set_scalar("mean", 1 / weights_together(setup_, layout_.train_size, now / group));
  program.set_scalar("epoch", double(in_phase.epoch));
  program.set_scalar(kStreamStart, begins_streams(position_.step_in_epoch + ahead, setup_.step.reset_period));
  program.set_scalar("watched",
                     (player == 0 ? observer_.watches(at) : is_watched_move(phase_, observer_, player, at)) ? 1 : 0);
  program.set_scalar("loss_scale", position_.loss_scale);
}

bool StepRunner::next_batch(Program& program, int64_t ahead) try {
  return feed_->next(program, batch_number() + ahead);
} catch (const KernelFault&) {
  throw;  // of an earlier step; the device reports it only now
} catch (const Error& error) {
  observer_.data_failed(error);
  throw;
}

// Starts at most so many steps of the programs. Returns how many. Players after the first move on its new weights.
int64_t StepRunner::launch(std::vector<StepProgram>& now, int64_t most) {
  for (int64_t i = 0; i < most; ++i) {
    bool watched = observer_.watches(progress(i));
    for (size_t player = 0; player < now.size(); ++player) {
      if (!phase_.moves(player, phase_.own(progress(i)).step)) continue;
      if (!next_batch(*now[player].program, i)) return i;
      write_record(now[player], i, player);
      now[player].program->run(uint64_t(position_.step + i));
      watched = watched || (player > 0 && is_watched_move(phase_, observer_, player, progress(i)));
    }
    if (watched) return i + 1;
  }
  return most;
}

namespace {

// Takes in what the players after the first did in `count` steps, of which `at` is the first.
void finish_players(const Phase& phase, std::vector<StepProgram>& now, const Progress& at, int64_t count,
                    StepObserver& observer) {
  const int64_t first = phase.own(at).step;
  for (size_t player = 1; player < now.size(); ++player) {
    int64_t left = 0;
    for (int64_t i = 0; i < count; ++i) left += phase.moves(player, first + i);
    for (int64_t i = 0; i < count; ++i) {
      if (!phase.moves(player, first + i)) continue;
      const int back = int(--left);
      if (now[player].program->recorded("finite", 0, back) == 0)
        observer.diverged(text("in epoch ", at.epoch + 1, ", step ", (at.step + i) % at.steps_per_epoch + 1,
                               ": the generator's update is not finite"));
      observer.player_moved(at.step + i, now[player].program->recorded("cost", 0, back));
    }
  }
}

}  // namespace

bool StepRunner::amid_update() const {
  const bool ended = position_.step_in_epoch == 0 || position_.step_in_epoch == setup_.steps_per_epoch;
  return phase_.adding && !ended && left_of_update(setup_, phase_, progress()) < setup_.step.accumulate;
}

int64_t StepRunner::run(int64_t most) {
  if (setup_.ranks) most = agree_on_signals(*setup_.ranks, most);
  if (most == 0 && amid_update()) most = 1;
  if (most == 0) return 0;
  const int64_t full_steps = layout_.train_size / setup_.step.batch;
  const bool full = position_.step_in_epoch < full_steps;
  const bool adds = phase_.adding && left_of_update(setup_, phase_, progress()) > 1;
  if (phase_.adding) most = adds ? std::min(most, left_of_update(setup_, phase_, progress()) - 1) : 1;
  StepPrograms& programs = adds ? adding_ : updating_;
  std::vector<StepProgram>& all = full ? programs.full[buckets_->of(batch_number())] : programs.ragged;
  StepProgram& now = all[0];
  most = full ? buckets_->alike(batch_number(), std::min(most, full_steps - position_.step_in_epoch)) : 1;
  for (const StepProgram& each : all)
    most = std::min<int64_t>({most, each.program->depth("cost"), each.program->depth("finite")});
  if (now.graph.counted) most = std::min<int64_t>(most, now.program->depth("count"));
  for (const std::string& output : now.graph.output_costs) most = std::min<int64_t>(most, now.program->depth(output));
  if (setup_.scales_loss()) most = std::min(most, steps_to_growth(position_));
  const int64_t count = launch(all, most);
  if (count == 0) return 0;
  finish_players(phase_, all, progress(), count, observer_);
  for (size_t player = 1; player < all.size(); ++player)
    if (phase_.moves(player, phase_.own(progress(count - 1)).step) &&
        is_watched_move(phase_, observer_, player, progress(count - 1)))
      observer_.watched_move_ended(player, *all[player].program);
  const Progress last = progress(count - 1);
  const double loss_scale = position_.loss_scale;
  int64_t done = 0;
  for (bool finite = true; finite && done < count; ++done) finite = finish_step(now, int(count - 1 - done));
  if (done == count && observer_.watches(last)) observer_.watched_step_ended(last, loss_scale, *now.program);
  // A checkpoint may take the sums now. Runs that save none go on with the same ones.
  const bool epoch_ends = position_.step_in_epoch == setup_.steps_per_epoch;
  if (phase_.adding && epoch_ends && left_of_update(setup_, phase_, progress()) < setup_.step.accumulate)
    gather_sums(variables_, setup_);
  return done;
}

// Takes in the results of the step at the present position. False when it was not finite.
bool StepRunner::finish_step(StepProgram& now, int back) {
  const int64_t all = std::min(setup_.step.batch, layout_.train_size - position_.step_in_epoch * setup_.step.batch);
  const int64_t counted = now.graph.counted ? std::llround(now.program->recorded("count", 0, back)) : all;
  last_cost_ = now.program->recorded("cost", 0, back);
  const std::vector<std::string>& output_costs = now.graph.output_costs;
  position_.output_cost_sums.resize(output_costs.size());
  for (size_t i = 0; i < output_costs.size(); ++i)
    position_.output_cost_sums[i] += now.program->recorded(output_costs[i], 0, back) * double(counted);
  const bool finite = now.program->recorded("finite", 0, back) != 0;
  if (!finite) take_nonfinite(now, last_cost_);
  else if (setup_.scales_loss()) grow_loss_scale(position_);
  observer_.step_ended(position_.step, last_cost_);
  position_.cost_sum += last_cost_ * double(counted);
  position_.counted += counted;
  count_step(finite);
  return finite;
}

void StepRunner::take_nonfinite(StepProgram& now, double cost) {
  if (!setup_.scales_loss() || !std::isfinite(cost) || !skip_overflow(position_))
    observer_.diverged(
        text("in epoch ", position_.epoch + 1, ", step ", position_.step_in_epoch + 1, ": ", first_nonfinite(now)));
  now.program->go_on();
}

// Runs the same step again, op by op. The step wrote nothing, so weights, indices and random numbers are the same.
std::string StepRunner::first_nonfinite(StepProgram& now) {
  variables_.to_host();
  ProgramOptions options;
  options.fuse = false;
  options.ranks = setup_.ranks;
  StepProgram checking{now.graph, compile_for_cpu(now.graph.graph, variables_, options)};
  feed_->bind_again(*checking.program, batch_number());
  write_record(checking, 0);
  const Nonfinite own = checking.program->first_nonfinite(uint64_t(position_.step));
  const std::string found = setup_.ranks ? first_of_ranks(*setup_.ranks, own) : own.text;
  return found.empty() ? "the step was not finite on this device, and is finite op by op on the CPU" : found;
}

// Where fewer than `samples` are left of the epoch.
void StepRunner::begin_epoch_if_ended(int64_t samples) {
  if (position_.step_in_epoch * setup_.step.batch + samples <= layout_.train_size) return;
  position_.step_in_epoch = 0;
  ++position_.epoch;
}

double StepRunner::repeat(int64_t count) {
  while (count > 0) {
    begin_epoch_if_ended(1);
    count -= run(count);
  }
  return last_cost_;
}

std::vector<double> StepRunner::time_kernels(bool adding) {
  Program& program = *(adding ? adding_ : updating_).full.back()[0].program;
  program.time_kernels(true);
  for (bool longest = false; !longest;) {
    begin_epoch_if_ended(setup_.step.batch);  // kernels are those of a whole batch
    longest = buckets_->of(batch_number()) + 1 == buckets_->count() &&
              (!phase_.adding || (left_of_update(setup_, phase_, progress()) > 1) == adding);
    repeat(1);
  }
  std::vector<double> out = program.kernel_milliseconds();
  program.time_kernels(false);
  return out;
}

}  // namespace neon
