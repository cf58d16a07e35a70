// The steps of one phase: its programs, the batches that they read, the step record, the loss scale, the threads.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neon/train/batch_buckets.h"
#include "neon/train/batch_feed.h"
#include "neon/train/callback.h"
#include "neon/train/phase.h"

namespace neon {

// Who hears of the steps while they run.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Whether the results of this step are looked at before another step begins.
  virtual bool watches(const Progress& step) const = 0;
  virtual void watched_step_ended(const Progress& step, double loss_scale, const Program& program) = 0;
  // A player after the first has moved for the last time before a watched step ends, maybe in that step.
  virtual void watched_move_ended(size_t player, const Program& program) { (void)player, (void)program; }
  // `step` counts from 0 through the whole run; the position is still before it.
  virtual void step_ended(int64_t step, double cost) = 0;
  // A player after the first has moved in that step.
  virtual void player_moved(int64_t step, double cost) { (void)step, (void)cost; }
  // A sample could not be read. Must throw.
  virtual void data_failed(const Error& error) = 0;
  // A step was not finite, and no smaller loss scale helps. `what` says where, and what was found. Must throw.
  virtual void diverged(const std::string& what) = 0;
};

// A program of a step: of one of a rule's players, or the only one.
struct StepProgram {
  StepGraph graph;
  std::unique_ptr<Program> program;
};

// One for each player; `full` of each bucket. `ragged`: for the last, shorter batch of an epoch; may be empty.
struct StepPrograms {
  std::vector<std::vector<StepProgram>> full;
  std::vector<StepProgram> ragged;
};

class StepRunner {
 public:
  // Compiles the programs for position.threads threads. All arguments must outlive the runner.
  StepRunner(const RunSetup& setup, Phase phase, Variables& variables, Position& position, StepObserver& observer,
             Listener& listener);

  // The graph of a whole batch, of the longest sequences where there are buckets.
  const StepGraph& graph() const { return updating_.full.back()[0].graph; }
  // The graphs of all players.
  std::vector<const StepGraph*> graphs() const {
    std::vector<const StepGraph*> out;
    for (const StepProgram& each : updating_.full.back()) out.push_back(&each.graph);
    return out;
  }
  // The program of a whole batch; with `adding`, where ranks sum apart, that of steps that only add up gradients.
  const Program& program(bool adding = false) const { return *(adding ? adding_ : updating_).full.back()[0].program; }
  const BatchFeed& feed() const { return *feed_; }

  // At most so many steps, all of one program; on a GPU they are under way together. Moves the position. Returns how
  // many were done: fewer where one was not finite, since no step after it counts, or where a signal came while data
  // was waited for.
  int64_t run(int64_t most);
  // Whether ranks have sums apart that no checkpoint may hold. run() goes on then whatever signal came.
  bool amid_update() const;
  // Trains the first steps with all, half, a quarter ... of the threads, and keeps the fastest number: beside another
  // process, or for a small net, that may be fewer than there are.
  void choose_threads();
  // Where the run stands, `ahead` steps from now.
  Progress progress(int64_t ahead = 0) const;
  // The first optimizer's rate in the last step; 0 without an optimizer.
  double rate() const;

  // For measurements: `count` steps over the epochs' ends, without anything else of a run. Returns the last cost.
  double repeat(int64_t count);
  // One step likewise, of program(adding). Returns how long each of its kernels took: milliseconds, in
  // the program's order.
  std::vector<double> time_kernels(bool adding = false);

 private:
  void make_feed_of_phase();
  // With `ragged` the programs of a short batch, too.
  void compile_all(int64_t threads, bool ragged);
  // By bucket and player; of a short batch for the last bucket alone.
  std::vector<std::vector<StepProgram>> compile(int64_t batch, int64_t threads, bool updates);
  int64_t updates_before(int64_t step) const;
  void count_step(bool finite);
  void write_record(StepProgram& now, int64_t ahead, size_t player = 0);
  bool next_batch(Program& program, int64_t ahead);
  int64_t launch(std::vector<StepProgram>& now, int64_t most);
  bool finish_step(StepProgram& now, int back);
  void take_nonfinite(StepProgram& now, double cost);
  std::string first_nonfinite(StepProgram& now);
  int64_t batch_number() const { return position_.epoch * setup_.steps_per_epoch + position_.step_in_epoch; }
  void begin_epoch_if_ended(int64_t samples);

  const RunSetup& setup_;
  const Phase phase_;
  Variables& variables_;
  Position& position_;
  StepObserver& observer_;
  Listener& listener_;
  DataLayout layout_;
  std::unique_ptr<BatchFeed> feed_;
  std::optional<BatchBuckets> buckets_;
  StepPrograms updating_;
  StepPrograms adding_;  // of steps that only add up gradients; empty unless ranks sum apart
  double last_cost_ = 0;
};

}  // namespace neon
