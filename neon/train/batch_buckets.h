// The length that each batch of a run is padded to.
#pragma once
#include "models/step_graph.h"
#include "neon/train/batch_feed.h"

namespace neon {

class BatchBuckets {
 public:
  // Batches are those of a feed with these options. Without buckets all batches are of one.
  BatchBuckets(const Split& split, const FeedOptions& options);
  // At least 1.
  size_t count() const { return options_.buckets ? options_.buckets->steps.size() : 1; }
  // The facts about data as batches of a bucket have them.
  DataLayout layout(const DataLayout& data, size_t bucket) const;
  // The bucket of a batch, counted through all epochs. A batch that is not full is of the last one.
  size_t of(int64_t number);
  // How many of so many whole batches, from that one on, are of its bucket.
  int64_t alike(int64_t number, int64_t most);
  // The steps of a batch, as a share of those of the longest.
  double work(int64_t number);

 private:
  FeedOptions options_;
  const int64_t samples_, batches_;
  int64_t epoch_ = -1;
  std::vector<int32_t> of_batch_;  // of that epoch
};

}  // namespace neon
