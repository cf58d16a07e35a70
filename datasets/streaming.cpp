#include "datasets/streaming.h"

#include "datasets/dataset.h"
#include "neon/core/free_memory.h"

namespace neon {

bool is_streamed(const StreamParams& params, double bytes, double memory_share, const HeldReason& held,
                 const DataContext& context) {
  const bool is_auto = params.stream == "auto", asks_room = is_auto && !context.streams && context.room;
  const bool settled = params.stream == "true" || (is_auto && context.streams.value_or(false));
  const double room = asks_room ? context.room() : 0;
  const bool wanted = settled || (asks_room && bytes > memory_share * room);
  if (held.why.empty() || !wanted) return wanted;
  if (settled) fail(ErrorKind::config, "stream: ", held.why, "; ", held.mend);
  context.warn(text(held.why, ", so its samples are held in memory: ", bytes_text(bytes), " of ", bytes_text(room),
                    " that are free; ", held.mend));
  return false;
}

double held_bytes(const Data& data) {
  double bytes = 0;
  for (const Split* split : {&data.train, &data.test, &data.validation})
    for (const Tensor* array : {&split->inputs, &split->targets})
      if (!array->empty()) bytes += double(array->bytes());
  return bytes;
}

double held_bytes(const DataCheck& check) {
  if (check.streamed) return 0;
  return double(check.input_bytes() + check.target_bytes()) *
         double(check.train_size + check.test_size + check.validation_size);
}

void check_room_to_hold(double bytes, const std::string& source, bool may_stream) {
  const double room = free_memory();
  if (bytes > room)
    fail(ErrorKind::memory, source, ": its samples take ", bytes_text(bytes), " in memory, more than the ",
         bytes_text(room), " that are free; give a smaller size", may_stream ? ", or stream: true" : "");
}

}  // namespace neon
