#include "neon/train/run_setup.h"

#include <algorithm>

#include "backends/device/cuda_libraries.h"
#include "neon/train/rank_step.h"
#include "neon/train/target_range.h"

namespace neon {

RunSetup::RunSetup(Experiment& experiment_, Data data_, RunOptions options_, Ranks* ranks_)
    : experiment(experiment_), data(std::move(data_)), options(std::move(options_)), ranks(ranks_) {
  const ExperimentParams& params = experiment.params;
  layout = layout_of(data);
  experiment.fit_batch(options, layout.train_size);
  step = step_options(options, params);
  check_batch(options, step, layout);
  check_keys_of_samples(params, layout);
  check_target_range(experiment, data, layout);
  epochs = options.epochs.value_or(params.epochs);
  if (rank().ranks > 1) check_trains_on_several(experiment);
  steps_per_epoch = (layout.train_size + step.batch - 1) / step.batch;
  int64_t first = 0;
  for (const TrainedPhase& phase : experiment.phases()) {
    const bool last = &phase == &experiment.last_phase();
    const int64_t count = last ? epochs - first : std::min(phase.epochs, epochs - first);
    check_buckets(params.buckets, phase.layout(layout), phase.source.rule);
    phases.push_back({&phase, first, count, last});
    first += count;
  }
  buckets = make_buckets(params.buckets, layout, data, step.batch);
  gpu = options.backend == "gpu";
  if (!gpu) return;
  std::string why_not;
  check_gpu(int(options.device_id));
  GpuModule& module = *gpu_module(why_not);
  device_name = module.devices()[size_t(options.device_id)].name;
  cuda = text("CUDA ", cuda_version(), " with a driver ", module.driver_version());
}

void check_keys_of_samples(const ExperimentParams& params, const DataLayout& layout) {
  check_balance(params.class_weights, params.draws_by_class(), layout);
  check_class_weights(params.outputs, layout.targets);
  if (params.reset_period > 0 && !layout.streams)
    fail_about("reset_period", "is for samples that are pieces of streams, whose states layers carry on; leave it out");
}

void check_trains_on_several(const Experiment& experiment) {
  const Parallel& parallel = experiment.params.parallel;
  const DenseSplit dense = parallel.dense_split();
  if (!dense.on && !dense.tables && parallel.optimizer == "replicated") return;
  for (const TrainedPhase& phase : experiment.phases())
    if (phase.source.rule)
      fail_about("parallel", "devices share the weights of nets with a cost, and ",
                 phase.name.empty() ? "this net" : text("phase ", in_quotes(phase.name)),
                 " trains by a rule; leave dense, embedding and optimizer out");
}

RankOf RunSetup::rank() const {
  const RankOf own = ranks ? ranks->of() : RankOf();
  return rank_of(step, own.rank, own.ranks);
}

const PhaseSpan& RunSetup::phase_after(int64_t epochs_done) const {
  const PhaseSpan* out = &phases.front();
  for (const PhaseSpan& span : phases)
    if (span.epochs > 0 && span.first <= epochs_done) out = &span;
  return *out;
}

DeviceOptions RunSetup::device(const Position& position, Listener& listener) const {
  DeviceOptions out;
  out.gpu = gpu;
  out.gpu_index = int(options.device_id);
  out.timed = position.timed;
  out.tf32 = options.tf32;
  out.name = "the training step";
  out.listener = &listener;
  out.program.threads = int(position.threads);
  out.program.ranks = ranks;
  return out;
}

}  // namespace neon
