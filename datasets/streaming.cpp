#include "datasets/streaming.h"

#include "datasets/dataset.h"

namespace neon {

bool is_streamed(const StreamParams& params, double bytes, const std::string& only_in_order,
                 const DataContext& context) {
  const bool asks_room = params.stream == "auto" && context.room;
  const double room = asks_room ? context.room() : 0;
  const bool wanted = params.stream == "true" || (asks_room && bytes > params.memory_share * room);
  if (only_in_order.empty() || !wanted) return wanted;
  const char* const mend = "; unpack it, or let neon data pack make shards of it";
  if (params.stream == "true") fail(ErrorKind::config, "stream: ", only_in_order, mend);
  context.warn(text(only_in_order, ", so its samples are held in memory: ", bytes_text(bytes), " of ", bytes_text(room),
                    " that are free", mend));
  return false;
}

}  // namespace neon
