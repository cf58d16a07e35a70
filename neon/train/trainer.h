// The fit loop: steps, evaluation, callbacks, checkpoints, metrics file, progress; from the start or from where a
// checkpoint left off.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neon/train/batch_feed.h"
#include "neon/train/evaluator.h"
#include "neon/train/progress.h"
#include "neon/train/run_log.h"
#include "neon/train/run_state.h"

namespace neon {

class CheckpointSaver;
class SignalGuard;

struct RunResult {
  std::map<std::string, double> results;  // of the last evaluation of the set during training
  std::map<std::string, double> at_end;   // of the test samples, where those are another set
  std::optional<double> cost;             // mean of the last epoch that was trained here
  Position position;
  int signal = 0;                  // that stopped the run
  std::vector<std::string> files;  // written; without the checkpoint's where none was worth it
  bool saved = false;              // there is a checkpoint of this run
  std::optional<double> waiting;   // share of the time that was spent waiting for data, where it is streamed
};

// A kernel has failed in a run, which had this seed and, since it began or went on, had done so many steps, or sent
// them off.
class RunFault : public KernelFault {
 public:
  RunFault(const std::string& message, const std::string& hint, uint64_t seed, int64_t steps)
      : KernelFault(message, hint), seed_(seed), steps_(steps) {}
  uint64_t seed() const { return seed_; }
  int64_t steps() const { return steps_; }

 private:
  uint64_t seed_;
  int64_t steps_;
};

class Trainer {
 public:
  // Compiles the programs and sets the initial weights; `resume` continues a stored run. Everything is checked
  // before the first step: that cost and metrics fit, that checkpoint and metrics file can be written. Where a seed is
  // to be drawn, `drawn` is taken if there is one; unlike a seed that is given, it does not ask for the same bits.
  Trainer(Experiment& experiment, Data data, RunOptions options, const StoredRun* resume = nullptr,
          std::optional<uint64_t> drawn = {});
  ~Trainer();
  // `settled` is called once nothing of the program is left to the clock any more. Throws RunFault for a KernelFault.
  RunResult run(const std::function<void()>& settled = {});

  const StepGraph& step_graph() const { return full_.graph; }
  const Program& program() const { return *full_.program; }
  Variables& variables() { return variables_; }
  int64_t threads() const { return position_.threads; }
  // Steps of the program that run() uses, on the next batches of the data; returns the cost of the last. For bench.
  double bench_steps(int64_t count);
  // One step likewise, with a note of how long each kernel took: milliseconds, in the program's order.
  std::vector<double> time_kernels_of_step();
  // Steps likewise, as many as are done in so many seconds, then an evaluation. Returns how many there were.
  int64_t try_out(int64_t steps, double seconds);
  const std::string& device_name() const { return device_name_; }
  std::string device_text() const { return gpu_ ? device_name_ : text(position_.threads, " threads"); }
  // To people and to the log file, or to that alone.
  void tell(const std::string& message) { progress_.message(message); }
  void log(const std::string& line) { progress_.log(line); }

 private:
  struct StepProgram {
    StepGraph graph;
    std::unique_ptr<Program> program;
  };

  void look_at_device();
  void begin_position(const StoredRun* resume, std::optional<uint64_t> drawn);
  void go_on_from(const StoredRun& resume);
  void check_position();
  void tell_other_rates(const StoredRun& resume);
  void make_feed_of_training();
  DeviceOptions device(int threads);
  StepProgram compile(int64_t batch, int threads);
  void compile_all(int threads);
  StepGraph graph_of(int64_t batch, const DataLayout& layout) const;
  // Everything that takes memory of the device: the feed, the programs, the evaluation's.
  void make_programs(Experiment& experiment, const StoredRun* resume);
  // Bytes of a GPU that all of it takes with batches of this size.
  size_t bytes_on_gpu(int64_t batch);
  std::string room_text();
  void check_room() const;
  // Trains the first steps with 1, 2, 4 ... threads and keeps the fastest: beside another process, or for a
  // small net, that may be fewer than there are.
  void choose_threads();
  void set_initial_values();
  void start_running_means();
  void load_weights(const std::string& path);
  void tell_of_caffe(const TensorFile& file, const std::string& path);
  void open_files();
  void log_what_is_run();
  void settle(const std::function<void()>& settled);
  // The next run of the program reads the batch so many steps ahead; false: a signal came first.
  bool next_batch(Program& program, int64_t ahead);
  int64_t batch_number() const { return position_.epoch * steps_per_epoch_ + position_.step_in_epoch; }
  // At most so many steps, all of one program; on a GPU they are under way together. Returns how many were done: fewer
  // where one was not finite, since none after it counts, or where a signal came while data was waited for.
  int64_t steps(int64_t most);
  Progress progress_at(int64_t ahead) const;
  // Whether a callback wants to see this step.
  bool watched(const Progress& step) const;
  void end_watched_step(const StepProgram& now, const Progress& at, double loss_scale);
  double weights_together(int64_t update) const;
  void record_rates(Program& program, int64_t ahead);
  // Takes in the results of the step at the present position; false when it was not finite.
  bool finish_step(StepProgram& now, int back);
  // In 16 bits, so that small gradients are none of the numbers that f16 has not; bf16 has them, and there it is for
  // the steps that may so be left out.
  bool scales_loss() const { return size_of(step_options_.dtype) == 2; }
  void handle_nonfinite(StepProgram& now, double cost);
  [[noreturn]] void diverged(StepProgram& now);
  [[noreturn]] void end_diverged(const std::string& what);
  // End the run where the variables, or the last evaluation, are not finite: no checkpoint is written of them.
  void check_variables();
  void check_evaluation();
  std::string kept_text() const;
  // False: a signal stopped its evaluation. The epoch's end is then still to come, also for a run that goes on.
  bool end_epoch();
  void train(const std::function<void()>& settled);
  // No epoch is left, or a callback has ended the run.
  bool finished() const;
  // False: a signal stopped the last evaluation.
  bool finish();
  bool evaluates_after(int64_t epoch) const;
  std::map<std::string, double> evaluate(int64_t epoch);
  // Of the evaluation after that epoch.
  void take_results(const std::map<std::string, double>& results, int64_t epoch);
  // Whether the last evaluation was of the net as it is.
  bool evaluated_now() const;
  void count_seconds();
  // A save that fails is told, and tried again later; the last one throws.
  void save(bool last);
  // False, and told, when the last evaluation was not finite.
  bool may_save();
  void save_after_epoch();
  void show_progress();
  double waiting(double elapsed) const;
  void say(const std::vector<std::string>& messages);
  // Once for each number of them.
  void tell_left_out();

  const Experiment& experiment_;
  Data data_;
  RunOptions options_;
  StepOptions step_options_;
  DataLayout layout_;
  Variables variables_;
  std::unique_ptr<BatchFeed> feed_;
  StepProgram full_, ragged_;
  Position position_;
  int64_t steps_per_epoch_ = 0, epochs_ = 0, eval_freq_ = 1;
  std::unique_ptr<SignalGuard> signals_;  // from the first file of the run to its begin
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<Evaluator> end_evaluator_;  // null where the set at the end is that during training
  std::unique_ptr<CheckpointSaver> saver_;
  std::unique_ptr<RunLog> log_;
  std::vector<Made<Callback>> former_callbacks_;  // of the run that goes on here
  ProgressLine progress_;
  std::map<std::string, double> results_, at_end_;
  std::string last_saved_, resumed_from_;
  std::vector<std::string> told_left_out_;
  std::string device_name_ = "CPU";
  bool gpu_ = false;
  std::optional<double> recent_cost_, epoch_cost_;  // means of the last steps and the last whole epoch
  double recent_step_cost_ = 0, rate_ = 0;
  int64_t first_step_ = 0, epoch_start_step_ = 0;
  int64_t together_ = 1;  // steps that are asked for at once
  double started_ = 0, epoch_started_ = 0, epoch_waited_ = 0;
  int64_t evaluated_epoch_ = 0;    // after which the last evaluation was; 0: there was none
  bool evaluation_finite_ = true;  // the last one, where there was one
  bool last_saved_evaluated_ = false;
  bool saved_ = false;  // nothing has changed since the last save
  bool threads_fixed_ = true;
};

}  // namespace neon
