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
  compile_all(position_.threads, true);
}

void StepRunner::make_feed_of_phase() {
  FeedOptions options = feed_options(setup_, phase_, position_.seed);
  options.device = setup_.device(position_, listener_);
  feed_ = make_feed(*phase_.split, options);
  layout_.held = feed_->rows();
  buckets_.emplace(*phase_.split, options);
}

void StepRunner::compile_all(int64_t threads, bool ragged) {
  updating_.full = compile(setup_.step.batch, threads, true);
  if (phase_.adding) adding_.full = compile(setup_.step.batch, threads, false);
  if (!ragged) return;
  const RankOf of = setup_.rank();
  const int64_t own = share_of(setup_.step.batch, setup_.step.batch, of).count;
  check_last_batch(setup_.options, graph(), own, setup_.step, layout_, of);
  const int64_t left = layout_.train_size % setup_.step.batch;
  if (left) updating_.ragged = std::move(compile(left, threads, true).back());
  if (left && phase_.adding) adding_.ragged = std::move(compile(left, threads, false).back());
}

std::vector<std::vector<StepProgram>> StepRunner::compile(int64_t batch, int64_t threads, bool updates) {
  const bool whole = batch == setup_.step.batch;
  DeviceOptions options = with_sequences(setup_.device(position_, listener_));
  options.name = phase_.name;
  options.program.threads = int(threads);
  // For one step of an epoch, timing algorithms takes longer than the fastest saves.
  if (!whole) options.timed = false;
  std::vector<std::vector<StepProgram>> out;
  for (size_t bucket = whole ? 0 : buckets_->count() - 1; bucket < buckets_->count(); ++bucket) {
    out.emplace_back(size_t(phase_.players()));
    for (size_t player = 0; player < out.back().size(); ++player) {
      StepProgram& made = out.back()[player];
      const DataLayout layout = buckets_->layout(layout_, bucket);
      made.graph = updates ? phase_.graph(batch, layout, int(player)) : phase_.adding(batch, layout);
      made.program = compile_program(made.graph.graph, variables_, options);
      feed_->bind(*made.program);
    }
  }
  return out;
}

void StepRunner::choose_threads() {
  constexpr int kWarmUp = 4, kTimed = 12;
  double best = 0;
  int64_t chosen = position_.threads;
  for (int64_t threads = position_.threads; threads >= 1 && !stop_signal(); threads /= 2) {
    if (position_.step_in_epoch + kWarmUp + kTimed >= setup_.steps_per_epoch) break;
    if (threads != position_.threads) compile_all(threads, false);
    std::vector<double> times;
    // The time that steps wait for data says nothing about the threads.
    const auto busy = [&] { return now_seconds() - feed_->waited(); };
    for (int i = 0; i < kWarmUp + kTimed && !stop_signal(); ++i) {
      const double before = busy(), work = buckets_->work(batch_number());
      run(1);
      if (i >= kWarmUp) times.push_back((busy() - before) / work);
    }
    if (times.size() < kTimed) break;  // stopped by a signal
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / kTimed;
    if (best == 0 || mean < best) best = mean, chosen = threads;
  }
  position_.threads = chosen;
  if (!stop_signal()) compile_all(position_.threads, true);
}

}  // namespace neon
