#include "neon/train/run_room.h"

#include "neon/core/free_memory.h"
#include "neon/train/batch_buckets.h"
#include "neon/train/gpu_room.h"

namespace neon {

namespace {

// Bytes of a GPU that a run takes with batches of this size.
size_t bytes_on_gpu(const RunSetup& setup, const Phase& phase, const DeviceOptions& device, int64_t batch) {
  GpuNeeds needs(with_sequences(device));
  const FeedBytes training = feed_bytes(*phase.split, {.batch = batch, .samples = !setup.step.augment.empty()});
  DataLayout layout = setup.layout;
  layout.held = training.rows;
  const BatchBuckets buckets(*phase.split, feed_options(setup, phase, setup.step.seed));
  for (size_t bucket = 0; bucket < buckets.count(); ++bucket)
    for (int player = 0; player < phase.players(); ++player)
      needs.add_program(phase.graph(batch, buckets.layout(layout, bucket), player).graph, training.each,
                        player == 0 && bucket == 0, true);
  needs.hold(training.shared);
  if (const int64_t left = layout.train_size % batch)
    for (int player = 0; player < phase.players(); ++player)
      needs.add_program(phase.graph(left, layout, player).graph, training.each, false, false);
  StepOptions evaluation = setup.step;
  evaluation.batch = batch;
  for (const Split* split : {&setup.data.validation, &setup.data.test})
    if (split->size() > 0)
      needs.add_evaluation(setup.experiment, setup.layout, *split, evaluation, setup.step.ema_decay > 0);
  return needs.bytes();
}

}  // namespace

void check_room(const Program& program, const Variables& variables) {
  const Lowered& lowered = program.lowered();
  double stored = 0;
  for (const auto& [name, tensor] : variables.all()) stored += double(tensor.bytes());
  const double needed = stored + double(lowered.arena_bytes), room = free_memory(true);
  if (needed > room)
    fail(ErrorKind::memory, "the net takes ", bytes_text(needed), ": weights and optimizer ", bytes_text(stored),
         ", a step ", bytes_text(double(lowered.arena_bytes)), "; ", bytes_text(room),
         " are free. Its largest array is ", largest_array(lowered));
}

std::string gpu_room_text(const RunSetup& setup, const Phase& phase, const DeviceOptions& device) {
  RoomAsked asked{.samples = setup.step.batch};
  asked.bytes = [&](int64_t batch) { return bytes_on_gpu(setup, phase, device, batch); };
  return room_text(asked, device);
}

}  // namespace neon
