#include "neon/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <ranges>

#include "backends/device/cuda_libraries.h"
#include "backends/elementwise/kernels.h"
#include "neon/core/threads.h"
#include "neon/core/version.h"
#include "neon/train/checkpoint.h"
#include "neon/train/clock.h"
#include "neon/train/fingerprint.h"
#include "neon/train/signals.h"

namespace neon {

namespace {

constexpr double kFirstLossScale = 65536;  // of types of 16 bits
constexpr double kSecondsUnseen = 0.05;
constexpr int64_t kMostTogether = 1024;

std::string device_words(const std::string& name) { return name == "CPU" ? "the CPU" : text("GPU ", name); }

uint64_t fresh_seed() { return uint64_t(std::chrono::system_clock::now().time_since_epoch().count()) & 0x7fffffffffff; }

}  // namespace

Trainer::Trainer(Experiment& experiment, Data data, RunOptions options, const StoredRun* resume,
                 std::optional<uint64_t> drawn)
    : experiment_(experiment),
      data_(std::move(data)),
      options_(std::move(options)),
      progress_(options_.progress_bar, options_.log_file) {
  const ExperimentParams& params = experiment_.params;
  layout_ = layout_of(data_);
  step_options_ = step_options(options_, params);
  check_batch(options_, step_options_, layout_);
  look_at_device();
  begin_position(resume, drawn);
  step_options_.seed = position_.seed;
  epochs_ = options_.epochs.value_or(params.epochs);
  steps_per_epoch_ = (layout_.train_size + step_options_.batch - 1) / step_options_.batch;
  check_position();
  make_programs(experiment, resume);
  if (resume) tell_other_rates(*resume);
  open_files();
  log_what_is_run();
}

Trainer::~Trainer() = default;

void Trainer::look_at_device() {
  gpu_ = options_.backend == "gpu";
  if (!gpu_) return;
  std::string why_not;
  check_gpu(int(options_.device_id));
  GpuModule& module = *gpu_module(why_not);
  device_name_ = module.devices()[size_t(options_.device_id)].name;
  position_.cuda = text("CUDA ", cuda_version(), " with a driver ", module.driver_version());
}

void Trainer::make_programs(Experiment& experiment, const StoredRun* resume) try {
  make_feed_of_training();
  compile_all(int(position_.threads));
  check_room();
  experiment.fit(full_.graph, layout_);
  set_initial_values();
  if (!options_.model_file.empty() && !resume) load_weights(options_.model_file);
  if (resume) {
    restore_variables(resume->file, resumed_from_, variables_);
    former_callbacks_ = restore_callbacks(*resume, experiment_);
  }
  variables_.to_device();
  const auto evaluator_of = [&](const EvaluatedSet& set) {
    return std::make_unique<Evaluator>(experiment_, layout_, set, step_options_, variables_,
                                       step_options_.ema_decay > 0, device(int(position_.threads)));
  };
  const EvaluatedSet now = set_during_training(data_), last = set_at_end(data_);
  if (now.split.size() > 0) evaluator_ = evaluator_of(now);
  if (&last.split != &now.split) end_evaluator_ = evaluator_of(last);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::memory || !gpu_) throw;
  fail(ErrorKind::memory, error.what(), room_text());
}

// Where the run stands: at its start, or where the checkpoint says.
void Trainer::begin_position(const StoredRun* resume, std::optional<uint64_t> drawn) {
  const auto given = options_.rng_seed ? options_.rng_seed : experiment_.params.rng_seed;
  if (given) position_.seed = uint64_t(*given);
  else if (options_.deterministic) position_.seed = uint64_t(kDeterministicSeed);
  else position_.seed = drawn ? *drawn : fresh_seed();
  // A seed, or --deterministic, asks for the same bits again, so neither the number of threads nor an algorithm is left
  // to the clock. A run that goes on takes the threads that were chosen, and chooses algorithms as it did.
  const bool repeatable = given || options_.deterministic;
  threads_fixed_ = gpu_ || repeatable || resume;
  position_.timed = gpu_ && !repeatable;
  position_.loss_scale = scales_loss() ? kFirstLossScale : 1;
  position_.threads = available_threads();
  position_.simd = elementwise::active_level().name;
  position_.version = version();
  position_.device = device_name_;
  if (resume || !options_.save_path.empty()) position_.data = fingerprint(data_);
  if (resume) go_on_from(*resume);
}

void Trainer::go_on_from(const StoredRun& resume) {
  const Position here = position_;
  position_ = resume.position;
  resumed_from_ = resume.file.path;
  if (!same_data(here.data, position_.data))
    fail(ErrorKind::data, "the data are not those that the run began with: then ", position_.data, ", now ", here.data,
         "; put the former data back, or start another run from these weights with --model_file");
  if (here.threads < position_.threads)
    progress_.message(text("note: the run had ", position_.threads, " threads, now ", here.threads,
                           ": results may differ in the last bits"));
  if (here.simd != position_.simd)
    progress_.message(text("note: the run used x86-64-", position_.simd, ", now x86-64-", here.simd,
                           ": products may differ in the last bits"));
  if (here.device != position_.device && !position_.device.empty())
    progress_.message(text("note: the run was on ", device_words(position_.device), ", now it is on ",
                           device_words(here.device), ": results may differ in the last bits"));
  else if (here.cuda != position_.cuda && !position_.device.empty())
    progress_.message(
        text("note: the run had ", position_.cuda, ", now ", here.cuda, ": results may differ in the last bits"));
  if (here.version != position_.version)
    progress_.message(text("note: the checkpoint was written by neon ", position_.version, ", this is ", here.version));
  if (gpu_ && position_.timed && !here.timed)
    progress_.message(
        "note: the run's algorithms were chosen by the clock, now they are not: results may differ in the "
        "last bits");
  position_.threads = std::min(here.threads, position_.threads);
  position_.timed = position_.timed && here.timed;
  position_.simd = here.simd;
  position_.version = here.version;
  position_.device = here.device;
  position_.cuda = here.cuda;
}

void Trainer::check_position() {
  const std::string note = check_steps(step_options_, epochs_ * steps_per_epoch_);
  if (!note.empty()) progress_.message(note);
  if (position_.step_in_epoch > steps_per_epoch_ ||
      position_.step != position_.epoch * steps_per_epoch_ + position_.step_in_epoch)
    fail(ErrorKind::data, "the checkpoint is of no step of this run: epoch ", position_.epoch, ", step ",
         position_.step_in_epoch, " of ", steps_per_epoch_, ", ", position_.step, " steps in all");
}

// A schedule may go by how many epochs the run has in all, as Cosine does.
void Trainer::tell_other_rates(const StoredRun& resume) {
  Progress now = progress_at(0), then = now;
  then.epochs = resume.options.epochs ? *resume.options.epochs : Experiment(resume.spec).params.epochs;
  for (const Optimizer* const optimizer : full_.graph.optimizers) {
    const double rate = optimizer->rate_at(now), before = optimizer->rate_at(then);
    if (rate == before) continue;
    progress_.message(text("note: the learning rate goes by the run's ", now.epochs, " epochs, which were ",
                           then.epochs, ": it goes on at ", rate, ", no longer at ", before));
    return;
  }
}

void Trainer::train(const std::function<void()>& settled) {
  first_step_ = position_.step;
  for (const auto& callback : former_callbacks_ | std::views::reverse) callback->train_begin(variables_);
  const auto is_former = [&](const auto& callback) {
    return std::ranges::any_of(former_callbacks_, [&](const auto& former) { return &*former == &*callback; });
  };
  for (const auto& callback : experiment_.params.callbacks)
    if (!is_former(callback)) callback->train_begin(variables_);
  if (!resumed_from_.empty()) variables_.to_device();  // what the callbacks put back
  while (!finished() && !stop_signal()) {
    epoch_started_ = now_seconds();
    epoch_waited_ = feed_->waited();
    epoch_start_step_ = position_.step;
    saved_ = false;
    if (!threads_fixed_) {
      choose_threads();
      threads_fixed_ = true;
      settle(settled);
    }
    together_ = 1;
    while (position_.step_in_epoch < steps_per_epoch_ && !stop_signal()) {
      const double before = now_seconds();
      steps(together_);
      // As many at once as keep signals and progress waiting no longer than one can notice.
      if (now_seconds() - before < kSecondsUnseen / 2) together_ = std::min<int64_t>(together_ * 2, kMostTogether);
      else if (now_seconds() - before > kSecondsUnseen) together_ = std::max<int64_t>(together_ / 2, 1);
      show_progress();
      if (log_) say(log_->take_messages());
    }
    if (position_.step_in_epoch < steps_per_epoch_) break;
    if (!end_epoch()) break;
    if (position_.epoch % options_.serialize == 0 && !finished() && !stop_signal()) save_after_epoch();
  }
}

bool Trainer::finished() const {
  return position_.epoch >= epochs_ ||
         std::ranges::any_of(experiment_.params.callbacks, [](const auto& callback) { return callback->ended_run(); });
}

bool Trainer::finish() {
  for (const auto& callback : experiment_.params.callbacks) {
    std::string message;
    callback->train_end(variables_, message);
    if (message.empty()) continue;
    progress_.message(message);
    variables_.to_device();
    saved_ = false;
    results_.clear();
  }
  if (!evaluator_) return true;
  if (results_.empty())
    if (const auto results = evaluator_->run(); !results.empty()) take_results(results, position_.epoch);
  if (results_.empty() || !end_evaluator_) return !results_.empty();
  at_end_ = end_evaluator_->run();
  return !at_end_.empty();
}

RunResult Trainer::run(const std::function<void()>& settled) try {
  const auto signals = signals_ ? std::move(signals_) : std::make_unique<SignalGuard>();
  const double seconds_before = position_.seconds;
  started_ = now_seconds();
  // A run that goes on with nothing left to do has nothing new to save, save under another name.
  saved_ = position_.step > 0 && (!saver_ || options_.save_path == resumed_from_);
  if (threads_fixed_) settle(settled);
  if (!finished()) train(settled);
  else if (position_.epoch < epochs_)
    progress_.message(text("the run was stopped early after epoch ", position_.epoch,
                           "; with more patience (--set callbacks=...), or with --set callbacks=[], it goes on"));
  RunResult out;
  if (!saved_) check_variables();
  // One that arrives after the last step stops nothing but the reading of samples.
  if (!finished() || !finish()) out.signal = stop_signal();
  else if (!saved_) check_evaluation();
  if (saved_ || !may_save()) count_seconds();
  else save(true);
  tell_left_out();
  if (log_) {
    log_->close(out.signal ? RunStatus::killed : RunStatus::complete);
    say(log_->take_messages());
    out.files.push_back(options_.output_file);
  }
  progress_.clear();
  if (!last_saved_.empty()) out.files.insert(out.files.begin(), last_saved_);
  out.saved = saver_ && (saved_ || !last_saved_.empty());
  out.results = results_;
  out.at_end = at_end_;
  out.cost = epoch_cost_;
  out.position = position_;
  const double seconds = position_.seconds - seconds_before;
  if (feed_->reads_ahead() && seconds > 0) out.waiting = feed_->waited() / seconds;
  return out;
} catch (const KernelFault& fault) {
  tell_left_out();
  progress_.log(fault.what());
  if (log_) log_->close(RunStatus::killed);
  throw RunFault(fault.message() + kept_text(), fault.hint(), position_.seed, position_.step - first_step_ + together_);
} catch (const std::exception& error) {
  tell_left_out();
  progress_.log(printable(error.what()));
  throw;
}

}  // namespace neon
