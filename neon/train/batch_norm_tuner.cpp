#include "neon/train/batch_norm_tuner.h"

#include <algorithm>

#include "neon/core/key_error.h"
#include "neon/train/phase.h"
#include "neon/train/signals.h"

namespace neon {

void BatchNormTuner::compile(const RunSetup& setup, const PhaseSpan& phase, const Position& position,
                             Listener& listener) {
  const Phase trained = training_phase(setup, phase);
  FeedOptions feeding = feed_options(setup, trained, position.seed);
  DeviceOptions device = setup.device(position, listener);
  device.name = "the statistics of batch norm";
  device.timed = false;
  feeding.device = device;
  feed_ = make_feed(*trained.split, feeding);
  StepOptions options = phase.phase->options(setup.step);
  options.share = share_of(options.batch, options.batch, setup.rank());
  options.batch = options.share.count;
  DataLayout layout = phase.phase->layout(setup.layout);
  layout.held = feed_->rows();
  const StepGraph graph = statistics_graph(*phase.phase->network, layout, options);
  states_ = graph.states;
  program_ = compile_program(graph.graph, copies_, with_sequences(device));
  feed_->bind(*program_);
}

void BatchNormTuner::take_weights(const Variables& variables) {
  for (const auto& [name, tensor] : copies_.all())
    copies_.at(name).copy_from(variables.at(variables.has(name + "/ema") ? name + "/ema" : name));
  copies_.to_device();
}

// The variance of few batches is a little too small: neon 1.x made it larger by n / (n - 1) for n batches.
void BatchNormTuner::set_statistics(const RunSetup& setup, Variables& variables, int64_t batches) {
  copies_.to_host();
  const double weight = share_of(setup.step.batch, setup.step.batch, setup.rank()).weight();
  for (const LayerState& state : states_) {
    const Tensor& measured = copies_.at(state.name);
    std::vector<double> numbers;
    for (int64_t i = 0; i < measured.elements(); ++i) numbers.push_back(weight * measured.at(i));
    if (setup.ranks) setup.ranks->sum(numbers);
    const bool widens = state.name.ends_with("/gvar") && batches > 1;
    const std::string average = state.name + "/ema";
    Tensor& into = variables.at(variables.has(average) ? average : state.name);
    for (size_t i = 0; i < numbers.size(); ++i)
      into.set(int64_t(i), widens ? numbers[i] * double(batches) / double(batches - 1) : numbers[i]);
  }
  variables.to_device();
}

bool BatchNormTuner::tune(const RunSetup& setup, const PhaseSpan& phase, const Position& position, Variables& variables,
                          Listener& listener) {
  if (!phase.last || std::ranges::none_of(setup.experiment.params.callbacks, &Callback::tunes_batch_norm)) return true;
  if (!program_) compile(setup, phase, position, listener);
  variables.to_host();
  take_weights(variables);
  const int64_t batches = setup.layout.train_size / setup.step.batch;  // whole ones
  for (int64_t k = 0; k < batches; ++k) {
    const int64_t step = setup.first_step(position.epoch) + k;
    if (stop_signal() || !feed_->next(*program_, step)) return false;
    program_->set_scalar(kShareOfBatch, 1 / double(k + 1));
    program_->run(uint64_t(step));
  }
  set_statistics(setup, variables, batches);
  return true;
}

}  // namespace neon
