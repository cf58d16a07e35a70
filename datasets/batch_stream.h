// Batches of samples that are read ahead by threads, in the order that a run has of data in memory: what a device is
// fed with where the samples do not fit in memory. Which samples a batch has depends on nothing but seed and number.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "datasets/sample_reader.h"
#include "neon/core/tensor.h"

namespace neon {

struct StreamOptions {
  int64_t batch = 128;
  uint64_t seed = 0;
  bool shuffle = true;
  int64_t first = 0;  // number of the batch to begin with: where a run goes on
  int threads = 0;    // 0: available_threads()
  int depth = 4;      // batches held in memory at most
};

// The samples of an epoch in order: 0 .. n-1 drawn by the seed.
std::vector<int32_t> epoch_order(int64_t n, uint64_t seed, int64_t epoch);

class BatchStream {
 public:
  // `reader` must outlive this.
  BatchStream(const SampleReader& reader, const StreamOptions& options);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  // Batch `number`, counted through all epochs; they are asked for one after the other. Waits until it is there, copies
  // it and returns its samples: `batch` of them, fewer in the last of an epoch. A data error for the first of its
  // samples that cannot be read.
  int64_t fill(int64_t number, std::span<uint8_t> pixels, std::span<int32_t> labels);
  int64_t batches_per_epoch() const { return batches_; }

 private:
  struct Slot {
    Tensor pixels, labels;
    std::shared_ptr<const std::vector<int32_t>> order;
    int64_t first = 0, count = 0, done = 0;  // of the epoch's samples
    int64_t bad = -1;                        // place of the first sample that could not be read
    std::string trouble;
  };
  struct Task {
    Slot* slot = nullptr;
    int64_t first = 0, last = 0;  // places in the batch
  };

  void work();
  bool claim(Task& task, std::unique_lock<std::mutex>& lock);
  void begin(int64_t number);
  void read(const Task& task);
  Slot& slot_of(int64_t number) { return slots_[size_t(number) % slots_.size()]; }

  const SampleReader& reader_;
  const StreamOptions options_;
  const int64_t batches_;
  const int64_t bytes_;  // of a sample
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  int64_t wanted_;                        // the batch that is asked for next
  int64_t claimed_, claimed_places_ = 0;  // the batch, and of it the places, that threads have begun
  int64_t order_epoch_ = -1;
  std::shared_ptr<const std::vector<int32_t>> order_;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace neon
