#include "neon/train/batch_feed.h"

#include "neon/train/memory_feed.h"
#include "neon/train/stream_feed.h"

namespace neon {

std::unique_ptr<BatchFeed> make_feed(const Split& split, const FeedOptions& options) {
  if (split.reader) return std::make_unique<StreamFeed>(split, options);
  return std::make_unique<MemoryFeed>(split, options);
}

std::vector<std::string> left_out_messages(const Data& data) {
  std::vector<std::string> out;
  for (const Split* split : {&data.train, &data.test}) {
    const LeftOut* const noted = split->reader ? split->reader->left_out() : nullptr;
    if (!noted || noted->count() == 0) continue;
    out.push_back(text("warning: ", data.source, ": ", noted->count(), " of ", split->size(),
                       split == &data.train ? " training images were left out, and others stood in for them"
                                            : " test images were left out",
                       "; the first: ", noted->first()));
  }
  return out;
}

Tensor target_rows(const Tensor& targets) {
  return !targets.empty() && targets.shape().rank() == 1 ? targets.reshaped({targets.shape()[0], 1}) : targets;
}

}  // namespace neon
