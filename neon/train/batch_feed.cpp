#include "neon/train/batch_feed.h"

#include "neon/train/memory_feed.h"
#include "neon/train/stream_feed.h"

namespace neon {

std::unique_ptr<BatchFeed> make_feed(const Split& split, const FeedOptions& options) {
  if (split.reader) return std::make_unique<StreamFeed>(split, options);
  return std::make_unique<MemoryFeed>(split, options);
}

FeedBytes feed_bytes(const Split& split, int64_t batch, std::optional<DType> weight) {
  const int64_t whole = (split.size() + batch - 1) / batch * batch;
  FeedBytes out;
  if (split.reader) {
    const int64_t sample_bytes = split.reader->sample().elements();
    out.rows = ring_samples(split.size(), batch, sample_bytes);
    out.shared = size_t(out.rows) * (size_t(sample_bytes) + sizeof(int32_t) + (weight ? size_of(*weight) : 0));
    out.each = size_t(out.rows) * sizeof(int32_t);
  } else {
    out.rows = split.size();
    out.shared = split.inputs.bytes() + split.targets.bytes();
    out.each =
        size_t(weight ? whole : split.size()) * sizeof(int32_t) + (weight ? size_t(whole) * size_of(*weight) : 0);
  }
  return out;
}

DeviceOptions with_sequences(DeviceOptions options) {
  options.sequences = BatchFeed::sequences();
  return options;
}

std::vector<std::string> left_out_messages(const Data& data) {
  std::vector<std::string> out;
  const std::pair<const Split*, const char*> splits[] = {
      {&data.train, " training images were left out, and others stood in for them"},
      {&data.validation, " validation images were left out"},
      {&data.test, " test images were left out"}};
  for (const auto& [split, what] : splits) {
    const LeftOut* const noted = split->reader ? split->reader->left_out() : nullptr;
    if (!noted || noted->count() == 0) continue;
    out.push_back(text("warning: ", printable(data.source), ": ", noted->count(), " of ", split->size(), what,
                       "; the first: ", printable(noted->first())));
  }
  return out;
}

Tensor target_rows(const Tensor& targets) {
  return !targets.empty() && targets.shape().rank() == 1 ? targets.reshaped({targets.shape()[0], 1}) : targets;
}

}  // namespace neon
