#include "neon/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "backends/elementwise/kernels.h"
#include "neon/core/random.h"
#include "neon/core/threads.h"
#include "neon/core/version.h"
#include "neon/train/checkpoint.h"
#include "neon/train/fingerprint.h"
#include "neon/train/signals.h"

namespace neon {

namespace {

// Dynamic loss scale of f16: halved when a step overflows, doubled after so many steps that did not
// (Micikevicius et al. 2018, section 3.2).
constexpr double kFirstLossScale = 65536, kLeastLossScale = 1, kMostLossScale = 16777216;
constexpr int64_t kStepsBeforeGrowth = 2000;

constexpr double kSecondsUnseen = 0.05;
constexpr int64_t kMostTogether = 1024;
constexpr double kShareForValues = 0.9;  // of the memory that is free: programs need a little beside their values

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint64_t fresh_seed() { return uint64_t(std::chrono::system_clock::now().time_since_epoch().count()) & 0x7fffffffffff; }

}  // namespace

Trainer::Trainer(Experiment& experiment, Data data, RunOptions options, const StoredRun* resume)
    : experiment_(experiment),
      data_(std::move(data)),
      options_(std::move(options)),
      progress_(options_.progress_bar, options_.log_file) {
  const ExperimentParams& params = experiment_.params;
  layout_ = layout_of(data_);
  step_options_ = step_options(options_, params);
  check_batch(step_options_, layout_);
  position_.seed = uint64_t(options_.rng_seed.value_or(params.rng_seed.value_or(int64_t(fresh_seed()))));
  position_.loss_scale = step_options_.dtype == DType::f16 ? kFirstLossScale : 1;
  position_.threads = available_threads();
  position_.simd = elementwise::active_level().name;
  position_.version = version();
  if (resume || !options_.save_path.empty()) position_.data = fingerprint(data_);
  if (resume) {
    const Position here = position_;
    position_ = resume->position;
    if (here.data != position_.data)
      fail(ErrorKind::data, "the data are not those that the run began with: then ", position_.data, ", now ",
           here.data, "; put the former data back, or start another run from these weights with --model_file");
    if (here.threads < position_.threads)
      progress_.message(text("note: the run had ", position_.threads, " threads, now ", here.threads,
                             ": results may differ in the last bits"));
    if (here.simd != position_.simd)
      progress_.message(text("note: the run used x86-64-", position_.simd, ", now x86-64-", here.simd,
                             ": products may differ in the last bits"));
    if (here.version != position_.version)
      progress_.message(
          text("note: the checkpoint was written by neon ", position_.version, ", this is ", here.version));
    position_.threads = std::min(here.threads, position_.threads);
    position_.simd = here.simd;
    position_.version = here.version;
  }
  step_options_.seed = position_.seed;
  epochs_ = options_.epochs.value_or(params.epochs);
  steps_per_epoch_ = (layout_.train_size + step_options_.batch - 1) / step_options_.batch;
  if (step_options_.accumulate > epochs_ * steps_per_epoch_)
    fail(ErrorKind::config, "accumulate: the run ends after ", epochs_ * steps_per_epoch_, " steps, before the first ",
         step_options_.accumulate, " are together: nothing would be learnt");
  if (position_.step_in_epoch >= steps_per_epoch_ ||
      position_.step != position_.epoch * steps_per_epoch_ + position_.step_in_epoch)
    fail(ErrorKind::data, "the checkpoint is of no step of this run: epoch ", position_.epoch, ", step ",
         position_.step_in_epoch, " of ", steps_per_epoch_, ", ", position_.step, " steps in all");
  targets_ = target_rows(data_.train.targets);
  gpu_ = options_.backend == "gpu";
  if (gpu_) {
    std::string why_not;
    check_gpu(int(options_.device_id));
    device_name_ = gpu_module(why_not)->devices()[size_t(options_.device_id)].name;
  }

  // A seed asks for the same bits again, so neither the number of threads nor an algorithm is left to the clock.
  repeatable_ = resume || options_.rng_seed || params.rng_seed || options_.deterministic;
  threads_fixed_ = gpu_ || repeatable_;
  compile_all(int(position_.threads));
  experiment.fit(full_.graph, layout_);
  set_initial_values();
  if (!options_.model_file.empty() && !resume) load_weights(options_.model_file);
  if (resume) {
    restore_variables(resume->file, "the checkpoint", variables_);
    restore_callbacks(*resume, experiment_);
  }
  variables_.to_device();
  if (data_.test.size() > 0)
    evaluator_ = std::make_unique<Evaluator>(experiment_, layout_, data_.test, step_options_, variables_,
                                             step_options_.ema_decay > 0, device(int(position_.threads)));
  open_files(resume);
}

Trainer::~Trainer() = default;

void Trainer::compile_all(int threads) try {
  full_ = compile(step_options_.batch, threads);
  check_last_batch(full_.graph, step_options_, layout_);
  if (const int64_t left = layout_.train_size % step_options_.batch) ragged_ = compile(left, threads);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::memory || !gpu_) throw;
  full_ = {}, ragged_ = {};
  fail(ErrorKind::memory, error.what(), room_text());
}

size_t Trainer::arena_of(int64_t batch) const {
  StepOptions options = step_options_;
  options.batch = batch;
  const ExperimentParams& params = experiment_.params;
  return lower(training_graph(experiment_.network(), *params.cost, *params.optimizer, layout_, options).graph)
      .arena_bytes;
}

// The values of a step are what the batch decides; the rest has its place by now, or never will.
std::string Trainer::room_text() const {
  std::string why_not;
  const size_t free = gpu_module(why_not)->free_bytes(int(options_.device_id));
  const std::string planned = text(". A step of ", step_options_.batch, " samples plans ",
                                   bytes_text(double(arena_of(step_options_.batch))), " for its values; ");
  const auto has_room = [&](int64_t batch) {
    try {
      return double(arena_of(batch)) < kShareForValues * double(free);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      return false;  // batch norm takes no batch of one sample
    }
  };
  int64_t fits = 0, fails = step_options_.batch;
  while (fails - fits > 1) {
    const int64_t middle = (fits + fails) / 2;
    (has_room(middle) ? fits : fails) = middle;
  }
  if (fits == 0) return planned + "not even a batch of 1 fits";
  return text(planned, "with what is free now about ", fits, " would fit (-z ", fits, ")");
}

void Trainer::choose_threads() {
  constexpr int kWarmUp = 4, kTimed = 12;
  double best = 0;
  int64_t chosen = position_.threads;
  for (int64_t threads = position_.threads; threads >= 1; threads /= 2) {
    if (position_.step_in_epoch + kWarmUp + kTimed >= steps_per_epoch_) break;
    if (threads != position_.threads) full_ = compile(step_options_.batch, int(threads));
    std::vector<double> times;
    for (int i = 0; i < kWarmUp + kTimed; ++i) {
      const double before = now_seconds();
      steps(1);
      if (i >= kWarmUp) times.push_back(now_seconds() - before);
    }
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / kTimed;
    if (best == 0 || mean < best) best = mean, chosen = threads;
  }
  position_.threads = chosen;
  compile_all(int(chosen));
}

DeviceOptions Trainer::device(int threads) const {
  DeviceOptions out;
  out.gpu = gpu_;
  out.gpu_index = int(options_.device_id);
  out.sequences = {"indices"};
  out.timed = !repeatable_;
  out.tf32 = options_.tf32;
  out.cpu.threads = threads;
  return out;
}

Trainer::StepProgram Trainer::compile(int64_t batch, int threads) {
  StepOptions options = step_options_;
  options.batch = batch;
  StepProgram out;
  out.graph =
      training_graph(experiment_.network(), *experiment_.params.cost, *experiment_.params.optimizer, layout_, options);
  out.program = compile_program(out.graph.graph, variables_, device(threads));
  out.program->bind_resident("data", data_.train.inputs.data());
  out.program->bind_resident("targets", targets_.data());
  if (!order_.empty()) out.program->bind_sequence("indices", order_.data(), layout_.train_size);
  return out;
}

void Trainer::set_initial_values() {
  for (const Parameter& p : full_.graph.parameters) {
    Tensor& stored = variables_.at(p.name);
    Tensor drawn(compute_type(stored.dtype()), stored.shape());
    Stream stream(position_.seed, "init/" + p.name);
    if (p.initializer) p.initializer->fill(drawn, p.fan, stream);
    else
      for (int64_t i = 0; i < drawn.elements(); ++i) drawn.set(i, p.fill);
    stored.copy_from(drawn);
  }
  for (const LayerState& s : full_.graph.states)
    for (int64_t i = 0; i < s.shape.elements(); ++i) variables_.at(s.name).set(i, s.fill);
  start_running_means();
}

void Trainer::start_running_means() {
  for (const Parameter& p : full_.graph.parameters) {
    if (!variables_.has(p.name + "/ema")) continue;
    variables_.at(p.name + "/ema").copy_from(variables_.at(p.name));
  }
}

void Trainer::load_weights(const std::string& path) {
  std::vector<std::string> warnings;
  const TensorFile file = load_checkpoint(path, warnings);
  say(warnings);
  restore_variables(file, path, variables_, true);
  for (const Parameter& p : full_.graph.parameters) {
    const DType stored = file.find(p.name)->dtype(), here = variables_.at(p.name).dtype();
    if (size_of(stored) <= size_of(here)) continue;
    progress_.message(text("note: the weights of ", path, " are ", stored, ", here they are rounded to ", here));
    break;
  }
  start_running_means();
}

void Trainer::open_files(const StoredRun*) {
  // Evaluating is a forward pass, about a third of a step: worth it every epoch below a tenth of the time.
  const bool cheap = double(layout_.test_size) < 0.3 * double(layout_.train_size);
  bool needed = false;
  for (const auto& callback : experiment_.params.callbacks) needed = needed || callback->needs_evaluation();
  eval_freq_ = options_.eval_freq.value_or(cheap || needed ? 1 : epochs_);
  if (needed && !evaluator_)
    fail(ErrorKind::config, "callbacks need an evaluation, but the data set has no test samples");
  if (!options_.save_path.empty()) {
    check_names(options_);
    double bytes = 0;
    for (const auto& [name, tensor] : variables_.all()) bytes += double(tensor.bytes()) + 200;
    saver_ = std::make_unique<CheckpointSaver>(options_.save_path, int(options_.history));
    saver_->claim(int64_t(bytes));
  }
  RunPlan plan{full_.graph, step_options_.dtype, epochs_, steps_per_epoch_, !options_.output_file.empty(), {}, {}, {}};
  for (const auto& callback : experiment_.params.callbacks) callback->plan(plan);
  say(plan.messages);
  if (plan.writes_file)
    log_ = std::make_unique<RunLog>(options_.output_file, experiment_, experiment_.resolved(), plan, eval_freq_,
                                    position_);
}

void Trainer::begin_epoch() {
  order_.resize(size_t(layout_.train_size));
  std::iota(order_.begin(), order_.end(), 0);
  if (experiment_.params.shuffle) {
    Stream stream(position_.seed, "order", uint64_t(position_.epoch));
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[stream.below(uint32_t(i))]);
  }
  for (StepProgram* step : {&full_, &ragged_})
    if (step->program) step->program->bind_sequence("indices", order_.data(), layout_.train_size);
}

Progress Trainer::progress_at(int64_t ahead) const {
  return {position_.epoch, position_.step + ahead, steps_per_epoch_, epochs_};
}

bool Trainer::watched(const Progress& step) const {
  return std::ranges::any_of(experiment_.params.callbacks,
                             [&](const auto& callback) { return callback->watches(step); });
}

void Trainer::end_watched_step(const StepProgram& now, const Progress& at, double loss_scale) {
  StepEnd end{at, loss_scale, *now.program, log_ ? &log_->file() : nullptr, {}};
  for (const auto& callback : experiment_.params.callbacks)
    if (callback->watches(at)) callback->step_end(end);
  say(end.messages);
}

void Trainer::record_rates(Program& program, int64_t ahead) {
  const Progress at = progress_at(ahead);
  const auto& optimizers = full_.graph.optimizers;
  for (size_t k = 0; k < optimizers.size(); ++k) {
    const double rate = optimizers[k]->rate_at(at);
    if (k == 0) rate_ = rate;
    program.set_scalar(text("rate/", k), rate);
  }
  // Updates are counted, not the steps whose gradients only add up.
  const int64_t group = step_options_.accumulate, now = position_.step + ahead;
  program.set_scalar("step", double(now / group + 1));
  program.set_scalar("apply", (now + 1) % group == 0 ? 1 : 0);
  program.set_scalar("epoch", double(position_.epoch));
  program.set_scalar("watched", watched(at) ? 1 : 0);
  program.set_scalar("loss_scale", position_.loss_scale);
}

int64_t Trainer::steps(int64_t most) {
  const int64_t full_steps = layout_.train_size / step_options_.batch;
  const bool full = position_.step_in_epoch < full_steps;
  StepProgram& now = full ? full_ : ragged_;
  int64_t count = std::min<int64_t>({most, now.program->depth("cost"), now.program->depth("finite"),
                                     full ? full_steps - position_.step_in_epoch : 1});
  // The loss scale grows after a step that the host has seen.
  if (step_options_.dtype == DType::f16) count = std::min(count, kStepsBeforeGrowth - position_.good_steps);
  for (int64_t i = 0; i < count; ++i) {
    now.program->set_first((position_.step_in_epoch + i) * step_options_.batch);
    record_rates(*now.program, i);
    now.program->run(uint64_t(position_.step + i));
    if (watched(progress_at(i))) count = i + 1;  // its results are looked at before another step
  }
  const Progress last = progress_at(count - 1);
  const double loss_scale = position_.loss_scale;
  int64_t done = 0;
  for (bool finite = true; finite && done < count; ++done) finite = finish_step(now, int(count - 1 - done));
  if (done == count && watched(last)) end_watched_step(now, last, loss_scale);
  return done;
}

bool Trainer::finish_step(StepProgram& now, int back) {
  const int64_t samples =
      std::min(step_options_.batch, layout_.train_size - position_.step_in_epoch * step_options_.batch);
  const double cost = now.program->recorded("cost", 0, back);
  const bool finite = now.program->recorded("finite", 0, back) != 0;
  if (!finite) {
    handle_nonfinite(now, cost);
  } else if (step_options_.dtype == DType::f16 && ++position_.good_steps >= kStepsBeforeGrowth) {
    position_.loss_scale = std::min(position_.loss_scale * 2, kMostLossScale);
    position_.good_steps = 0;
  }
  if (log_) log_->step(position_.step, cost);
  position_.cost_sum += cost * double(samples);
  position_.samples += samples;
  recent_step_cost_ = cost;
  recent_cost_ = position_.step == 0 ? cost : 0.9 * recent_cost_ + 0.1 * cost;
  ++position_.step;
  ++position_.step_in_epoch;
  return finite;
}

void Trainer::handle_nonfinite(StepProgram& now, double cost) {
  if (step_options_.dtype != DType::f16 || !std::isfinite(cost) || position_.loss_scale <= kLeastLossScale)
    diverged(now);
  position_.loss_scale = std::max(position_.loss_scale / 2, kLeastLossScale);
  position_.good_steps = 0;
  ++position_.skipped;
  now.program->go_on();
}

void Trainer::diverged(StepProgram& now) {
  // The same step again, op by op. Nothing was written, so weights, indices and random numbers are the same.
  variables_.to_host();
  CpuOptions options;
  options.fuse = false;
  auto checking = compile_for_cpu(now.graph.graph, variables_, options);
  checking->bind("data", data_.train.inputs.data());
  checking->bind("targets", targets_.data());
  checking->bind("indices", order_.data() + position_.step_in_epoch * step_options_.batch);
  record_rates(*checking, 0);
  std::string found = checking->first_nonfinite(uint64_t(position_.step));
  if (found.empty()) found = "a value that the fused step overflowed in";
  if (log_) log_->close(RunStatus::killed);
  const std::string kept = last_saved_.empty() ? "; no checkpoint was being saved (-s FILE)"
                                               : "; the last good checkpoint is " + last_saved_;
  fail(ErrorKind::diverged, "the run diverged in epoch ", position_.epoch + 1, ", step ", position_.step_in_epoch + 1,
       ": ", found, kept, ". A smaller learning rate, gradient_clip_norm or a warm-up may help");
}

void Trainer::show_progress() {
  ProgressState state;
  state.epoch = position_.epoch + 1;
  state.epochs = epochs_;
  state.step = position_.step_in_epoch;
  state.steps = steps_per_epoch_;
  state.cost = recent_cost_;
  state.skipped = position_.skipped;
  const double elapsed = now_seconds() - epoch_started_;
  const double done = double(position_.step - epoch_start_step_);
  state.samples_per_second = elapsed > 0 ? done * double(step_options_.batch) / elapsed : 0;
  state.seconds_left = done > 0 ? elapsed / done * double(epochs_ * steps_per_epoch_ - position_.step) : 0;
  progress_.step(state);
}

bool Trainer::evaluate_now() const {
  return evaluator_ && (position_.epoch % eval_freq_ == 0 || position_.epoch == epochs_);
}

std::map<std::string, double> Trainer::evaluate() {
  const double before = now_seconds();
  auto results = evaluator_->run();
  if (log_) log_->evaluation(position_.epoch, results, now_seconds() - before);
  return results;
}

void Trainer::end_epoch() {
  const double seconds = now_seconds() - epoch_started_;
  const double mean_cost = position_.samples ? position_.cost_sum / double(position_.samples) : 0;
  ++position_.epoch;
  position_.step_in_epoch = 0;
  const int64_t steps = position_.step - epoch_start_step_;
  position_.cost_sum = 0;
  position_.samples = 0;
  if (log_) log_->epoch(position_, mean_cost, rate_, seconds);
  if (!experiment_.params.callbacks.empty()) variables_.to_host();
  EpochEnd end{position_.epoch, mean_cost, {}, variables_, ""};
  if (evaluate_now()) end.results = results_ = evaluate();
  for (const auto& callback : experiment_.params.callbacks) callback->epoch_end(end);
  ProgressState state;
  state.epoch = position_.epoch;
  state.epochs = epochs_;
  state.cost = mean_cost;
  state.skipped = position_.skipped;
  state.samples_per_second = seconds > 0 ? double(steps * step_options_.batch) / seconds : 0;
  progress_.epoch(state, results_text(end.results));
  if (!end.message.empty()) progress_.message(end.message);
}

void Trainer::count_seconds() {
  const double now = now_seconds();
  position_.seconds += now - started_;
  started_ = now;
}

void Trainer::save(bool last) {
  count_seconds();
  if (!saver_) return;
  if (log_) log_->flush();
  variables_.to_host();
  try {
    say(saver_->save(pack_run(experiment_, experiment_.resolved(), options_, position_, variables_, data_),
                     position_.epoch));
    last_saved_ = options_.save_path;
    saved_ = true;
  } catch (const Error& error) {
    if (last) throw;
    progress_.message(text("warning: ", error.what()));
  }
}

void Trainer::say(const std::vector<std::string>& messages) {
  for (const std::string& message : messages) progress_.message(message);
}

void Trainer::train() {
  for (const auto& callback : experiment_.params.callbacks) callback->train_begin(variables_);
  while (!finished() && !stop_signal()) {
    begin_epoch();
    epoch_started_ = now_seconds();
    epoch_start_step_ = position_.step;
    saved_ = false;
    if (!threads_fixed_) choose_threads();
    threads_fixed_ = true;
    int64_t together = 1;
    while (position_.step_in_epoch < steps_per_epoch_ && !stop_signal()) {
      const double before = now_seconds();
      steps(together);
      // As many at once as keep signals and progress waiting no longer than one can notice.
      if (now_seconds() - before < kSecondsUnseen / 2) together = std::min<int64_t>(together * 2, kMostTogether);
      else if (now_seconds() - before > kSecondsUnseen) together = std::max<int64_t>(together / 2, 1);
      show_progress();
      if (log_) say(log_->take_messages());
    }
    if (position_.step_in_epoch < steps_per_epoch_) break;
    end_epoch();
    if (position_.epoch % options_.serialize == 0 && !finished() && !stop_signal()) save(false);
  }
}

bool Trainer::finished() const {
  return position_.epoch >= epochs_ ||
         std::ranges::any_of(experiment_.params.callbacks, [](const auto& callback) { return callback->ended_run(); });
}

void Trainer::finish() {
  for (const auto& callback : experiment_.params.callbacks) {
    std::string message;
    callback->train_end(variables_, message);
    if (message.empty()) continue;
    progress_.message(message);
    variables_.to_device();
    saved_ = false;
    results_.clear();
  }
  if (results_.empty() && evaluator_) results_ = evaluator_->run();
}

RunResult Trainer::run() {
  SignalGuard signals;
  started_ = now_seconds();
  saved_ = position_.step > 0;  // a run that goes on with nothing left to do has nothing new to save
  if (!finished()) train();
  RunResult out;
  // One that arrives after the last step stops nothing.
  if (finished()) finish();
  else out.signal = stop_signal();
  if (!saved_) save(true);
  else count_seconds();
  if (log_) {
    log_->close(out.signal ? RunStatus::killed : RunStatus::complete);
    say(log_->take_messages());
    out.files.push_back(options_.output_file);
  }
  if (saver_) out.files.insert(out.files.begin(), options_.save_path);
  out.results = results_;
  out.position = position_;
  return out;
}

double Trainer::bench_steps(int64_t count) {
  if (order_.empty()) begin_epoch();
  while (count > 0) {
    if (position_.step_in_epoch >= layout_.train_size / step_options_.batch) position_.step_in_epoch = 0;
    count -= steps(count);
  }
  return recent_step_cost_;
}

}  // namespace neon
