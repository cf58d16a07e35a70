// What a run takes of a GPU's memory, and the batch that would fit where it is too much.
#include <algorithm>

#include "neon/train/trainer.h"

namespace neon {

namespace {

constexpr double kShareToPlan = 0.95;  // of what is free: the driver needs a little for kernels and launches

}  // namespace

// In the order in which it is taken: arrays to time algorithms on have gone before a program's values and the data
// come.
size_t Trainer::bytes_on_gpu(int64_t batch) {
  std::string why_not;
  GpuModule& module = *gpu_module(why_not);
  const DeviceOptions options = with_sequences(device(int(position_.threads)));
  size_t held = 0, shared = 0, most = 0;
  const auto add_program = [&](const StepGraph& step, const FeedBytes& feed, bool has_own_variables) {
    const MemoryNeeds needs = module.needs_of(step.graph, options);
    if (has_own_variables) held += needs.variables;
    most = std::max(most, held + shared + needs.passing);
    held += needs.own + feed.each;
    shared = std::max(shared, needs.shared);
  };

  const FeedBytes training = feed_bytes(data_.train, batch, {});
  DataLayout layout = layout_;
  layout.held = training.rows;
  add_program(graph_of(batch, layout), training, true);
  held += training.shared;
  if (const int64_t left = layout.train_size % batch) add_program(graph_of(left, layout), training, false);
  for (const Split* split : {&data_.validation, &data_.test}) {
    if (split->size() == 0) continue;
    StepOptions evaluation = step_options_;
    evaluation.batch = std::min(batch, split->size());
    const FeedBytes feed = feed_bytes(*split, evaluation.batch, DType::f32);
    add_program(evaluation_graph(experiment_.network(), &*experiment_.params.cost, experiment_.metrics(), layout_,
                                 feed.rows, evaluation),
                feed, step_options_.ema_decay > 0);
    held += feed.shared;
  }
  return std::max(most, held + shared);
}

// Lets go of everything, so that what is free is all there is for another batch.
std::string Trainer::room_text() {
  evaluator_.reset(), end_evaluator_.reset();
  full_ = {}, ragged_ = {};
  feed_.reset();
  variables_.set_mirror(nullptr);
  std::string why_not;
  const size_t free = gpu_module(why_not)->free_bytes(int(options_.device_id));
  const auto fits = [&](int64_t batch) {
    try {
      return double(bytes_on_gpu(batch)) < kShareToPlan * double(free);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      return false;  // batch norm takes no batch of one sample
    }
  };
  int64_t good = 0, bad = step_options_.batch;
  while (bad - good > 1) {
    const int64_t middle = (good + bad) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  const auto planned = [&](int64_t batch) { return bytes_text(double(bytes_on_gpu(batch))); };
  const std::string out =
      text(". Steps of ", step_options_.batch, " samples plan ", planned(step_options_.batch),
           " for data, weights and values in all, of ", bytes_text(double(free)), " that are free; ");
  if (good > 0) return text(out, "about ", good, " samples would fit (-z ", good, ")");
  return out + "not even a batch of 1 fits";
}

}  // namespace neon
