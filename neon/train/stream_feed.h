// Batches that threads read into a ring while a device computes.
#pragma once
#include "datasets/batch_stream.h"
#include "neon/train/batch_feed.h"

namespace neon {

class StreamFeed : public BatchFeed {
 public:
  StreamFeed(std::shared_ptr<const RowReader> rows, const FeedOptions& options);
  int64_t rows() const override { return slots_ * batch_; }
  void bind(Program& program) override;
  bool next(Program& program, int64_t number) override;
  void bind_again(Program& program, int64_t number) override;
  bool reads_ahead() const override { return true; }
  double waited() const override { return waited_; }

 private:
  std::unique_ptr<BatchStream> open(BatchRing& ring, int slots, int64_t first) const;
  void begin(int64_t number);
  void release_before(int64_t number);
  int64_t wait_for(int64_t number);
  void fill_up(int64_t number, int64_t count);
  BatchSlot memory(BatchRing& ring, int slot) const;

  const std::shared_ptr<const RowReader> reader_;
  const FeedOptions options_;
  const int64_t batch_;  // samples of a slot: at most so many are this rank's
  const int64_t slots_;
  std::vector<RingInput> inputs_;  // "data", "targets" where samples have any, "samples" and "weight" where asked for
  std::unique_ptr<BatchRing> ring_, again_;
  std::unique_ptr<BatchStream> stream_;  // goes before the memory that its threads write to
  std::vector<int32_t> indices_;
  int64_t next_ = 0, oldest_ = 0;  // batches: the next, and the oldest whose slot is not given back
  double waited_ = 0;
};

}  // namespace neon
