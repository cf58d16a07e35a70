// Batches of a set that is held in memory, and on a GPU lies there.
#pragma once
#include <map>

#include "neon/train/batch_feed.h"

namespace neon {

class MemoryFeed : public BatchFeed {
 public:
  MemoryFeed(const Split& split, const FeedOptions& options);
  int64_t rows() const override { return split_.size(); }
  void bind(Program& program) override;
  bool next(Program& program, int64_t number) override;
  void bind_again(Program& program, int64_t number) override;

 private:
  void begin_epoch(int64_t epoch);
  int64_t first_of(int64_t number) const;
  const Split& split_;
  const FeedOptions options_;
  const int64_t batches_;
  Tensor targets_, weight_;
  std::vector<int32_t> order_;
  std::vector<SampleKey> samples_;  // in that order
  int64_t order_epoch_ = -1;
  std::map<const Program*, int64_t> epoch_of_;  // whose order a program has
};

}  // namespace neon
