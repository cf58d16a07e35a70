// Batches that threads read into a ring while a device computes.
#pragma once
#include "datasets/batch_stream.h"
#include "neon/train/batch_feed.h"

namespace neon {

class StreamFeed : public BatchFeed {
 public:
  StreamFeed(const Split& split, const FeedOptions& options);
  int64_t rows() const override { return slots_ * options_.batch; }
  void bind(Program& program) override;
  bool next(Program& program, int64_t number) override;
  void bind_again(Program& program, int64_t number) override;
  double waited() const override { return waited_; }

 private:
  std::unique_ptr<BatchStream> open(BatchRing& ring, int slots, int64_t first) const;
  void begin(int64_t number);
  void release_before(int64_t number);
  int64_t wait_for(int64_t number);
  void fill_up(int64_t number, int64_t count);
  std::span<uint8_t> pixels(BatchRing& ring, int slot) const;
  std::span<int32_t> labels(BatchRing& ring, int slot) const;

  const SampleReader& reader_;
  const FeedOptions options_;
  const int64_t sample_bytes_, slots_;
  std::vector<RingInput> inputs_;
  std::unique_ptr<BatchRing> ring_, again_;
  std::unique_ptr<BatchStream> stream_;  // goes before the memory that its threads write to
  std::vector<int32_t> indices_;
  int64_t next_ = 0, oldest_ = 0;  // batches: the next, and the oldest whose slot is not given back
  double waited_ = 0;
};

}  // namespace neon
