#include "neon/train/stream_feed.h"

#include <algorithm>
#include <numeric>

#include "neon/train/clock.h"
#include "neon/train/signals.h"

namespace neon {

namespace {

// Batches in the ring: many where they are small, so that a slow sample keeps nobody waiting; on a GPU one is read, one
// is copied, and the rest is filled.
constexpr int64_t kLeastSlots = 4, kMostSlots = 16, kRingBytes = int64_t(256) << 20;
constexpr int64_t kPartOfSet = 4;  // of a small set a quarter, if that is enough slots

// How long a wait for data may be deaf to signals, and, while the device is busy, blind to its end.
constexpr std::chrono::milliseconds kDeaf{20}, kBlind{1};

int64_t slots_for(int64_t samples, int64_t batch, size_t sample_bytes) {
  const int64_t batches = (samples + batch - 1) / batch;
  const int64_t most = std::clamp(batches / kPartOfSet, kLeastSlots, kMostSlots);
  return std::clamp(kRingBytes / std::max<int64_t>(batch * int64_t(sample_bytes), 1), kLeastSlots, most);
}

void copy_row(std::span<std::byte> rows, size_t bytes, int64_t from, int64_t to) {
  std::ranges::copy(rows.subspan(size_t(from) * bytes, bytes), rows.subspan(size_t(to) * bytes, bytes).begin());
}

}  // namespace

int64_t ring_samples(int64_t samples, int64_t batch, size_t sample_bytes) {
  return slots_for(samples, batch, sample_bytes) * batch;
}

StreamFeed::StreamFeed(std::shared_ptr<const RowReader> rows, const FeedOptions& options)
    : reader_(std::move(rows)),
      options_(options),
      batch_(most_of_ranks(options.batch, options.of)),
      slots_(slots_for(reader_->size() / options.of.ranks, batch_, reader_->bytes())),
      indices_(size_t(slots_ * batch_)) {
  const auto batch = size_t(batch_);
  inputs_ = {{"data", batch * reader_->input_bytes()}};
  if (reader_->target_bytes() > 0) inputs_.push_back({"targets", batch * reader_->target_bytes()});
  if (options.samples) inputs_.push_back({"samples", batch * sizeof(SampleKey), true});
  if (options.weight) inputs_.push_back({"weight", batch * size_of(*options.weight), true});
  ring_ = make_ring(inputs_, int(slots_), options.device);
  std::iota(indices_.begin(), indices_.end(), 0);
}

void StreamFeed::bind(Program& program) {
  ring_->bind(program);
  program.bind_sequence("indices", indices_.data(), rows());
}

BatchSlot StreamFeed::memory(BatchRing& ring, int slot) const {
  const auto bytes = [&](size_t input) {
    return std::span(static_cast<std::byte*>(ring.slot(input, slot)), inputs_[input].slot_bytes);
  };
  BatchSlot out{bytes(0), {}};
  size_t input = 1;
  if (reader_->target_bytes() > 0) out.targets = bytes(input++);
  if (options_.samples) out.samples = {static_cast<SampleKey*>(ring.slot(input, slot)), size_t(batch_)};
  return out;
}

std::unique_ptr<BatchStream> StreamFeed::open(BatchRing& ring, int slots, int64_t first) const {
  StreamOptions options;
  options.batch = options_.batch;
  options.seed = options_.seed;
  options.order = options_.order;
  options.labels = options_.labels;
  options.buckets = options_.buckets;
  options.first = first;
  options.threads = options_.threads;
  options.stand_ins = !options_.weight;
  options.of = options_.of;
  options.keeps_places = options_.keeps_places();
  std::vector<BatchSlot> memories;
  for (int slot = 0; slot < slots; ++slot) memories.push_back(memory(ring, slot));
  return std::make_unique<BatchStream>(*reader_, options, std::move(memories));
}

// The run begins, goes on, or goes back to a batch.
void StreamFeed::begin(int64_t number) {
  for (; oldest_ < next_; ++oldest_) ring_->is_free(int(oldest_ % slots_), true);
  stream_.reset();
  stream_ = open(*ring_, int(slots_), number);
  next_ = oldest_ = number;
}

// Gives back the slots that the device has taken; of half of them that is waited for, so that the threads always have
// some to fill.
void StreamFeed::release_before(int64_t number) {
  for (; oldest_ < number; ++oldest_) {
    if (!ring_->is_free(int(oldest_ % slots_), number - oldest_ > slots_ / 2)) return;
    stream_->release();
  }
}

// Samples of the batch; 0: a signal came.
int64_t StreamFeed::wait_for(int64_t number) {
  while (true) {
    release_before(number);
    const bool idle = ring_->is_idle();
    const double before = now_seconds();
    const int64_t count = stream_->take(number, idle ? kDeaf : kBlind);
    if (idle) waited_ += now_seconds() - before;
    if (count > 0 || stop_signal()) return count;
  }
}

// The last sample of a pass fills up its last batch; the copies do not count, nor do samples left out.
void StreamFeed::fill_up(int64_t number, int64_t count) {
  const int slot = int(number % slots_);
  const BatchSlot batch = memory(*ring_, slot);
  const int64_t first = number % stream_->batches_per_epoch() * options_.batch;
  const bool counts = options_.share(std::min(options_.batch, reader_->size() - first)).counts;
  Tensor weight = Tensor::wrap(*options_.weight, {batch_, 1}, {}, ring_->slot(inputs_.size() - 1, slot));
  for (int64_t i = 0; i < batch_; ++i) weight.set(i, counts && i < count ? 1 : 0);
  for (int64_t place : stream_->left_out(number)) weight.set(place, 0);
  for (int64_t i = count; i < batch_; ++i) {
    copy_row(batch.inputs, reader_->input_bytes(), count - 1, i);
    copy_row(batch.targets, reader_->target_bytes(), count - 1, i);
    if (options_.samples) batch.samples[size_t(i)] = batch.samples[size_t(count - 1)];
  }
}

bool StreamFeed::next(Program& program, int64_t number) {
  if (stop_signal()) return false;
  if (!stream_ || number != next_) begin(number);
  const int64_t count = wait_for(number);
  if (count == 0) return false;
  ++next_;
  if (options_.weight) fill_up(number, count);
  const int64_t slot = number % slots_;
  ring_->send(int(slot));
  program.set_first(slot * batch_);
  return true;
}

void StreamFeed::bind_again(Program& program, int64_t number) {
  again_ = make_host_ring(inputs_, 1);
  const auto stream = open(*again_, 1, number);
  while (stream->take(number, kDeaf) == 0) continue;
  again_->bind(program);
  program.set_first(0);
  program.bind("indices", indices_.data());
}

}  // namespace neon
