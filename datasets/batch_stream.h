// Batches of samples that are read ahead by threads, in the order that a run has of data in memory: what a device is
// fed with where the samples do not fit in its memory. Which samples a batch has depends on nothing but seed and
// number.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "datasets/length_buckets.h"
#include "datasets/sample_reader.h"
#include "neon/core/batch_share.h"

namespace neon {

// The order of the samples of an epoch.
//  drawn     another one in each epoch, by the seed
//  balanced  another one in each epoch, in which all classes come as often (balanced_order.h)
//  as_given  that of the set
//  streams   for sets whose samples go on one from the other: the set is cut into as many streams as a batch has
//  samples,
//            and batch j has piece j of each. Where the streams cannot be of one length, the first ones have a piece
//            more, and the last batch has only those.
enum class SampleOrder : uint8_t { drawn, balanced, as_given, streams };
// Whether each epoch has an order of its own.
inline bool is_drawn(SampleOrder order) { return order == SampleOrder::drawn || order == SampleOrder::balanced; }
// Classes of samples, for an order that asks for them; otherwise null.
using SampleLabels = std::shared_ptr<const std::vector<int32_t>>;

struct StreamOptions {
  int64_t batch = 128;
  uint64_t seed = 0;
  SampleOrder order = SampleOrder::drawn;
  SampleLabels labels = nullptr;
  SampleBuckets buckets = nullptr;
  int64_t first = 0;  // number of the batch to begin with: where a run goes on
  int threads = 0;    // 0: available_threads()
  // For a sample that is left out the next one of the set that can be read stands in; otherwise its place is listed.
  bool stand_ins = true;
  // The stream reads the part of each batch that belongs to this rank.
  RankOf of = {};
  bool keeps_places = false;  // a place of the batch belongs to the same rank where a batch is short
  int64_t most() const { return most_of_ranks(batch, of); }  // samples of a part
  BatchShare share(int64_t whole) const { return share_of(whole, keeps_places ? batch : whole, of); }
};

// The n samples of an epoch in that order. With buckets, batches of an order that is drawn are then formed by length;
// those as given go from the shortest bucket to the longest.
std::vector<int32_t> epoch_order(SampleOrder order, int64_t n, int64_t batch, uint64_t seed, int64_t epoch,
                                 const SampleLabels& labels = nullptr, const SampleBuckets& buckets = nullptr);

// Which sample of a set it is, and in which epoch: augmentations draw by these. Where a sample may come several times,
// `index` is the place in the epoch, so that each time is augmented in its own way.
struct SampleKey {
  int32_t index = 0, epoch = 0;
};
inline SampleKey sample_key(SampleOrder order, int64_t index, int64_t place, int64_t epoch) {
  return {int32_t(order == SampleOrder::balanced ? place : index), int32_t(epoch)};
}

// Where a batch is written; the caller's memory.
struct BatchSlot {
  std::span<std::byte> inputs;        // (StreamOptions::most(), RowReader::input_bytes())
  std::span<std::byte> targets;       // (StreamOptions::most(), RowReader::target_bytes())
  std::span<SampleKey> samples = {};  // (StreamOptions::most()), or none
};

class BatchStream {
 public:
  // `reader` must outlive this. Batch k is written to slot k % slots.
  BatchStream(const RowReader& reader, const StreamOptions& options, std::vector<BatchSlot> slots);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  // Batches are counted through all epochs and taken one after the other. Waits for batch `number`, so long at most,
  // and returns its samples: `batch` of them, or this rank's part, fewer in the last of an epoch; 0: it is not there
  // yet. Throws what was
  // thrown for the first of its samples that could not be read.
  int64_t take(int64_t number, std::chrono::milliseconds most);
  // Places in a batch taken of samples that are left out; without stand-ins.
  const std::vector<int64_t>& left_out(int64_t number) { return slot_of(number).left_out; }
  // The oldest batch that was not given back is done with, its slot may be written again.
  void release();
  int64_t batches_per_epoch() const { return batches_; }

 private:
  struct Slot {
    BatchSlot memory;
    std::shared_ptr<const std::vector<int32_t>> order;
    int64_t epoch = 0, first = 0, count = 0, done = 0;  // the last three of the epoch's samples
    int64_t bad = -1;                                   // place of the first sample that could not be read
    std::exception_ptr trouble;
    std::vector<int64_t> left_out;
  };
  struct Task {
    Slot* slot = nullptr;
    int64_t first = 0, last = 0;  // places in the batch
  };

  void start(int threads);
  void stop();
  void work();
  bool claim(Task& task, std::unique_lock<std::mutex>& lock);
  bool begin(int64_t number);
  void make_order(int64_t epoch);
  void read(const Task& task, ReadScratch& scratch);
  void read_sample(Slot& slot, int64_t place, ReadScratch& scratch);
  bool leave_out(Slot& slot, int64_t place, int64_t index, const std::string& trouble);
  bool is_there(int64_t number);
  std::span<std::byte> input(const Slot& slot, int64_t place) const;
  std::span<std::byte> target(const Slot& slot, int64_t place) const;
  Slot& slot_of(int64_t number) { return slots_[size_t(number) % slots_.size()]; }

  const RowReader& reader_;
  const StreamOptions options_;
  const int64_t batches_;
  const size_t input_bytes_, target_bytes_;  // of a sample
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  int64_t wanted_, released_;             // the batch that is taken next, and the oldest not given back
  int64_t claimed_, claimed_places_ = 0;  // the batch, and of it the places, that threads have begun
  int64_t order_epoch_ = -1;
  std::shared_ptr<const std::vector<int32_t>> order_;
  std::atomic<bool> stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace neon
