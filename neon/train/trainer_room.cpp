// What a run takes of a GPU's memory, where that is too much.
#include "neon/train/gpu_room.h"
#include "neon/train/trainer.h"

namespace neon {

size_t Trainer::bytes_on_gpu(int64_t batch) {
  GpuNeeds needs(with_sequences(device(int(position_.threads))));
  const FeedBytes training = feed_bytes(data_.train, {.batch = batch, .samples = !step_options_.augment.empty()});
  DataLayout layout = layout_;
  layout.held = training.rows;
  needs.add_program(graph_of(batch, layout).graph, training.each, true, true);
  needs.hold(training.shared);
  if (const int64_t left = layout.train_size % batch)
    needs.add_program(graph_of(left, layout).graph, training.each, false, false);
  StepOptions evaluation = step_options_;
  evaluation.batch = batch;
  for (const Split* split : {&data_.validation, &data_.test})
    if (split->size() > 0) needs.add_evaluation(experiment_, layout_, *split, evaluation, step_options_.ema_decay > 0);
  return needs.bytes();
}

// Lets go of everything, so that what is free is all there is for another batch.
std::string Trainer::room_text() {
  evaluator_.reset(), end_evaluator_.reset();
  full_ = {}, ragged_ = {};
  feed_.reset();
  variables_.set_mirror(nullptr);
  RoomAsked asked{.samples = step_options_.batch};
  asked.bytes = [this](int64_t batch) { return bytes_on_gpu(batch); };
  return neon::room_text(asked, device(int(position_.threads)));
}

}  // namespace neon
