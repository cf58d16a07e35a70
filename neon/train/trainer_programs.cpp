#include <numeric>

#include "neon/core/free_memory.h"
#include "neon/train/checkpoint.h"
#include "neon/train/clock.h"
#include "neon/train/trainer.h"

namespace neon {

void Trainer::make_feed_of_training() {
  FeedOptions options;
  options.batch = step_options_.batch;
  options.seed = position_.seed;
  options.shuffle = experiment_.params.shuffle;
  options.samples = !step_options_.augment.empty();
  options.device = device(int(position_.threads));
  feed_ = make_feed(data_.train, options);
  layout_.held = feed_->rows();
  if (gpu_ && data_.train.stays_on_host && feed_->reads_ahead())
    progress_.message(
        "note: the samples would take more than memory_share of the GPU's memory: they stay in the host's, and batches "
        "are copied as the run goes on");
}

void Trainer::compile_all(int threads) {
  full_ = compile(step_options_.batch, threads);
  check_last_batch(options_, full_.graph, step_options_, layout_);
  if (const int64_t left = layout_.train_size % step_options_.batch) ragged_ = compile(left, threads);
}

// The system gives memory when it is first touched, and where there is none left it ends the process.
void Trainer::check_room() const {
  if (gpu_) return;
  const Lowered& lowered = full_.program->lowered();
  double stored = 0;
  for (const auto& [name, tensor] : variables_.all()) stored += double(tensor.bytes());
  const double needed = stored + double(lowered.arena_bytes), room = free_memory(true);
  if (needed > room)
    fail(ErrorKind::memory, "the net takes ", bytes_text(needed), ": weights and optimizer ", bytes_text(stored),
         ", a step ", bytes_text(double(lowered.arena_bytes)), "; ", bytes_text(room),
         " are free. Its largest array is ", largest_array(lowered));
}

void Trainer::choose_threads() {
  constexpr int kWarmUp = 4, kTimed = 12;
  double best = 0;
  int64_t chosen = position_.threads;
  for (int64_t threads = position_.threads; threads >= 1; threads /= 2) {
    if (position_.step_in_epoch + kWarmUp + kTimed >= steps_per_epoch_) break;
    if (threads != position_.threads) full_ = compile(step_options_.batch, int(threads));
    std::vector<double> times;
    // Data that is waited for says nothing about the threads.
    const auto busy = [&] { return now_seconds() - feed_->waited(); };
    for (int i = 0; i < kWarmUp + kTimed; ++i) {
      const double before = busy();
      steps(1);
      if (i >= kWarmUp) times.push_back(busy() - before);
    }
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / kTimed;
    if (best == 0 || mean < best) best = mean, chosen = threads;
  }
  position_.threads = chosen;
  compile_all(int(chosen));
}

DeviceOptions Trainer::device(int threads) {
  DeviceOptions out;
  out.gpu = gpu_;
  out.gpu_index = int(options_.device_id);
  out.timed = position_.timed;
  out.tf32 = options_.tf32;
  out.name = "the training step";
  out.listener = &progress_;
  out.cpu.threads = threads;
  return out;
}

Trainer::StepProgram Trainer::compile(int64_t batch, int threads) {
  StepProgram out;
  out.graph = graph_of(batch, layout_);
  DeviceOptions options = with_sequences(device(threads));
  // For a step of an epoch choices by the clock take longer than they save.
  if (batch != step_options_.batch) options.timed = false;
  out.program = compile_program(out.graph.graph, variables_, options);
  feed_->bind(*out.program);
  return out;
}

StepGraph Trainer::graph_of(int64_t batch, const DataLayout& layout) const {
  StepOptions options = step_options_;
  options.batch = batch;
  options.weight = double(batch) / double(step_options_.batch);
  const ExperimentParams& params = experiment_.params;
  return training_graph(experiment_.network(), *params.cost, *params.optimizer, layout, options);
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
  tell_of_caffe(file, path);
  start_running_means();
}

void Trainer::tell_of_caffe(const TensorFile& file, const std::string& path) {
  const std::optional<bool> trained = trained_as_caffe(file);
  if (trained.value_or(options_.caffe) == options_.caffe) return;
  progress_.message(text("note: the net of ", path, " was trained with", *trained ? "" : "out",
                         " --caffe, this run is with", *trained ? "out" : "",
                         " it: pooling may have other sizes, and dropout another scale"));
}

}  // namespace neon
