// How the programs of a phase are made, and for how many threads.
#include <numeric>

#include "neon/train/clock.h"
#include "neon/train/signals.h"
#include "neon/train/step_runner.h"

namespace neon {

StepRunner::StepRunner(const RunSetup& setup, Phase phase, Variables& variables, Position& position,
                       StepObserver& observer, Listener& listener)
    : setup_(setup),
      phase_(std::move(phase)),
      variables_(variables),
      position_(position),
      observer_(observer),
      listener_(listener),
      layout_(setup.layout) {
  make_feed_of_phase();
  compile_all();
}

void StepRunner::make_feed_of_phase() {
  FeedOptions options;
  options.batch = setup_.step.batch;
  options.seed = position_.seed;
  options.order = phase_.order;
  options.samples = !setup_.step.augment.empty();
  options.of = setup_.rank();
  options.device = setup_.device(position_, listener_);
  feed_ = make_feed(*phase_.split, options);
  layout_.held = feed_->rows();
}

void StepRunner::compile_all() {
  full_ = compile(setup_.step.batch, position_.threads);
  check_last_batch(setup_.options, graph(), setup_.step, layout_);
  if (const int64_t left = layout_.train_size % setup_.step.batch) ragged_ = compile(left, position_.threads);
}

std::vector<StepProgram> StepRunner::compile(int64_t batch, int64_t threads) {
  DeviceOptions options = with_sequences(setup_.device(position_, listener_));
  options.name = phase_.name;
  options.program.threads = int(threads);
  // For one step of an epoch, timing algorithms takes longer than the fastest saves.
  if (batch != setup_.step.batch) options.timed = false;
  std::vector<StepProgram> out(size_t(phase_.players()));
  for (size_t player = 0; player < out.size(); ++player) {
    out[player].graph = phase_.graph(batch, layout_, int(player));
    out[player].program = compile_program(out[player].graph.graph, variables_, options);
    feed_->bind(*out[player].program);
  }
  return out;
}

void StepRunner::choose_threads() {
  constexpr int kWarmUp = 4, kTimed = 12;
  double best = 0;
  int64_t chosen = position_.threads;
  for (int64_t threads = position_.threads; threads >= 1 && !stop_signal(); threads /= 2) {
    if (position_.step_in_epoch + kWarmUp + kTimed >= setup_.steps_per_epoch) break;
    if (threads != position_.threads) full_ = compile(setup_.step.batch, threads);
    std::vector<double> times;
    // The time that steps wait for data says nothing about the threads.
    const auto busy = [&] { return now_seconds() - feed_->waited(); };
    for (int i = 0; i < kWarmUp + kTimed && !stop_signal(); ++i) {
      const double before = busy();
      run(1);
      if (i >= kWarmUp) times.push_back(busy() - before);
    }
    if (times.size() < kTimed) break;  // stopped by a signal
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / kTimed;
    if (best == 0 || mean < best) best = mean, chosen = threads;
  }
  position_.threads = chosen;
  if (!stop_signal()) compile_all();
}

}  // namespace neon
