#include "neon/cli/timed_pass.h"

#include "neon/cli/rank_process.h"
#include "neon/cli/step_time.h"

namespace neon {

namespace {

const char* name_of(TimedPass::Kind kind) {
  switch (kind) {
    case TimedPass::Kind::forward: return "the forward pass";
    case TimedPass::Kind::gradients: return "the forward and backward passes";
    case TimedPass::Kind::inference: break;
  }
  return "the outputs";
}

StepGraph graph_of(TimedPass::Kind kind, const Experiment& experiment, const DataLayout& layout,
                   const StepOptions& options) {
  if (kind == TimedPass::Kind::inference)
    return evaluation_graph(experiment.network(), nullptr, {}, layout, layout.train_size, options);
  return gradient_graph(experiment.network(), *experiment.cost(), layout, experiment.last_phase().options(options),
                        kind == TimedPass::Kind::gradients);
}

}  // namespace

TimedPass::TimedPass(Kind kind, const Experiment& experiment, const Data& data, StepOptions options,
                     Variables& variables, const DeviceOptions& device)
    : kind_(kind), works_ahead_(device.gpu) {
  FeedOptions feeding;
  feeding.batch = options.batch;
  if (own_ranks()) {
    feeding.of = own_ranks()->of();
    if (mixes(options)) feeding.of.together = 2;  // a sample and its partner
    options.share = share_of(options.batch, options.batch, feeding.of);
    options.batch = options.share.count;
  }
  feeding.order = SampleOrder::as_given;
  feeding.weight = DType::f32;  // every batch is a whole one
  feeding.samples = !options.augment.empty();
  feeding.device = device;
  feed_ = make_feed(data.train, feeding);
  DataLayout layout = layout_of(data);
  layout.held = feed_->rows();
  DeviceOptions of_program = with_sequences(device);
  of_program.program.ranks = own_ranks();
  of_program.name = name_of(kind);
  program_ = compile_program(graph_of(kind, experiment, layout, options).graph, variables, of_program);
  feed_->bind(*program_);
}

StepTime TimedPass::time(const Timings& timings) {
  return time_steps(timings, works_ahead_, [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) run();
    wait();
  });
}

double TimedPass::cost_of_first_batch() {
  step_ = 0;
  run();
  double cost = program_->recorded("cost");
  if (own_ranks()) own_ranks()->sum({&cost, 1});
  return cost;
}

std::vector<double> TimedPass::time_kernels() {
  program_->time_kernels(true);
  run();
  wait();
  std::vector<double> out = program_->kernel_milliseconds();
  program_->time_kernels(false);
  return out;
}

void TimedPass::run() {
  feed_->next(*program_, step_);
  program_->run(uint64_t(step_++));
}

// For what the device was given to do.
void TimedPass::wait() {
  if (kind_ == Kind::inference) program_->output("y");
  else program_->recorded("cost");
}

}  // namespace neon
