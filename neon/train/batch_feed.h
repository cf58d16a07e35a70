// The programs of a run read from a feed batch by batch: the whole set, of which `indices` picks a batch, where it is
// held in their memory; or a ring of batches, which threads read while the run goes on, from files or, where a set does
// not fit in a GPU's memory, from the host's. Which samples a batch has, and so every bit of what is computed, is the
// same; only of images that on_bad_sample: skip leaves out are there fewer in memory, where others stand in for them in
// the ring.
#pragma once
#include <memory>
#include <optional>

#include "backends/device/device.h"
#include "datasets/batch_stream.h"
#include "datasets/dataset.h"

namespace neon {

struct FeedOptions {
  int64_t batch = 128;
  uint64_t seed = 0;
  SampleOrder order = SampleOrder::drawn;
  SampleLabels labels = nullptr;    // without them make_feed() takes those of the only target
  SampleBuckets buckets = nullptr;  // of the split's samples
  // Type of the input `weight` (batch, 1), which says what samples count: the last batch of a pass is filled up with
  // its last sample, which does not count again. Without it that batch is short.
  std::optional<DType> weight;
  // Whether there is the input `samples` (batch, 2) i32, which says what a batch has: each sample's index in the set,
  // and the epoch. Augmentations draw by it.
  bool samples = false;
  int threads = 0;  // that read; 0: available_threads()
  RankOf of = {};   // of several ranks, programs read this one's part of each batch
  // Parts of a stream stay with their rank, and so does what fills up a batch of an evaluation.
  bool keeps_places() const { return weight || order == SampleOrder::streams; }
  BatchShare share(int64_t whole) const { return share_of(whole, keeps_places() ? batch : whole, of); }
  DeviceOptions device;
};

class BatchFeed {
 public:
  virtual ~BatchFeed() = default;
  // Samples that the input `data` of the programs holds: the set, or the ring.
  virtual int64_t rows() const = 0;
  // The program reads `data`, `targets`, `indices`, `weight` and `samples` from here. It was compiled with sequences().
  virtual void bind(Program& program) = 0;
  // The program's next run reads batch `number`, counted through all epochs. False: a signal asks the run to stop, and
  // the batch would have to be read. A data error for a sample that cannot be read.
  virtual bool next(Program& program, int64_t number) = 0;
  // The same for a program of the CPU that looks at a batch once more.
  virtual void bind_again(Program& program, int64_t number) = 0;
  // Whether batches come through a ring.
  virtual bool reads_ahead() const { return false; }
  // Seconds in which the device had nothing to do because its batch was not there.
  virtual double waited() const { return 0; }

  // Inputs that programs are to be compiled with as DeviceOptions::sequences.
  static std::vector<std::string> sequences() { return {"indices", "weight", "samples"}; }
};

// The labels of samples as an order asks for them; of several targets those of the first with classes.
SampleLabels labels_to_draw_by(SampleOrder order, const Split& split, const std::vector<NamedTarget>& targets = {});

// Bytes that a feed takes of a device: for all programs together, and for each beside that.
struct FeedBytes {
  int64_t rows = 0;  // BatchFeed::rows()
  size_t shared = 0, each = 0;
};
// Bytes of the feed that make_feed() makes with such options.
FeedBytes feed_bytes(const Split& split, const FeedOptions& options);

// The options with which a program is compiled that reads from a feed.
DeviceOptions with_sequences(DeviceOptions options);

// `split` must outlive the feed.
std::unique_ptr<BatchFeed> make_feed(const Split& split, const FeedOptions& options);
// Lines on samples that were left out as they were read.
std::vector<std::string> left_out_messages(const Data& data);
// How many of so many streamed samples, of so many bytes with their targets, a feed holds at a time, on the host, and
// as many on a GPU.
int64_t ring_samples(int64_t samples, int64_t batch, size_t sample_bytes);

// (n) labels or numbers as (n, 1).
Tensor target_rows(const Tensor& targets);

}  // namespace neon
