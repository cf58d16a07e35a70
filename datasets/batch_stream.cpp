#include "datasets/batch_stream.h"

#include <algorithm>
#include <numeric>

#include "neon/core/error.h"
#include "neon/core/random.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

constexpr int64_t kSamplesAtOnce = 8;  // that a thread takes: a few, so that all threads work on the batch needed next

}  // namespace

std::vector<int32_t> epoch_order(int64_t n, uint64_t seed, int64_t epoch) {
  std::vector<int32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Stream stream(seed, "order", uint64_t(epoch));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(uint32_t(i))]);
  return order;
}

BatchStream::BatchStream(const SampleReader& reader, const StreamOptions& options)
    : reader_(reader),
      options_(options),
      batches_((reader.size() + options.batch - 1) / options.batch),
      bytes_(reader.sample().elements()),
      slots_(size_t(options.depth)),
      wanted_(options.first),
      claimed_(options.first) {
  NEON_ASSERT(options.batch > 0 && options.depth > 0 && reader.size() > 0);
  for (Slot& slot : slots_) {
    slot.pixels = Tensor(DType::u8, {options.batch, bytes_});
    slot.labels = Tensor(DType::i32, {options.batch});
  }
  const int threads = options.threads > 0 ? options.threads : available_threads();
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

BatchStream::~BatchStream() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// A batch's turn has come: what it is made of. Under the lock.
void BatchStream::begin(int64_t number) {
  const int64_t epoch = number / batches_;
  if (epoch != order_epoch_) {
    std::vector<int32_t> order(static_cast<size_t>(reader_.size()));
    if (options_.shuffle) order = epoch_order(reader_.size(), options_.seed, epoch);
    else std::iota(order.begin(), order.end(), 0);
    order_ = std::make_shared<const std::vector<int32_t>>(std::move(order));
    order_epoch_ = epoch;
  }
  Slot& slot = slot_of(number);
  slot.order = order_;
  slot.first = number % batches_ * options_.batch;
  slot.count = std::min(options_.batch, reader_.size() - slot.first);
  slot.done = 0;
  slot.bad = -1;
}

// Waits for something to do; false when there will be nothing any more.
bool BatchStream::claim(Task& task, std::unique_lock<std::mutex>& lock) {
  room_.wait(lock, [&] { return stops_ || claimed_ < wanted_ + int64_t(slots_.size()); });
  if (stops_) return false;
  if (claimed_places_ == 0) begin(claimed_);
  Slot& slot = slot_of(claimed_);
  task = {&slot, claimed_places_, std::min(slot.count, claimed_places_ + kSamplesAtOnce)};
  claimed_places_ = task.last;
  if (task.last == slot.count) ++claimed_, claimed_places_ = 0;
  return true;
}

void BatchStream::work() {
  std::unique_lock lock(mutex_);
  Task task;
  while (claim(task, lock)) {
    lock.unlock();
    read(task);
    lock.lock();
    task.slot->done += task.last - task.first;
    if (task.slot->done == task.slot->count) ready_.notify_all();
  }
}

void BatchStream::read(const Task& task) {
  Slot& slot = *task.slot;
  for (int64_t i = task.first; i < task.last; ++i) try {
      const auto pixels = slot.pixels.as<uint8_t>().subspan(size_t(i * bytes_), size_t(bytes_));
      slot.labels.as<int32_t>()[size_t(i)] = reader_.read((*slot.order)[size_t(slot.first + i)], pixels);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      if (slot.bad >= 0 && slot.bad < i) continue;
      slot.bad = i;
      slot.trouble = error.what();
    }
}

int64_t BatchStream::fill(int64_t number, std::span<uint8_t> pixels, std::span<int32_t> labels) {
  std::unique_lock lock(mutex_);
  NEON_ASSERT(number == wanted_);
  ready_.wait(lock, [&] {
    const Slot& slot = slot_of(number);
    return (claimed_ > number) && slot.done == slot.count;
  });
  // Nobody touches the slot until the next batch is wanted.
  lock.unlock();
  const Slot& slot = slot_of(number);
  if (slot.bad >= 0) fail(ErrorKind::data, slot.trouble);
  const auto count = size_t(slot.count);
  NEON_ASSERT(pixels.size() >= count * size_t(bytes_) && labels.size() >= count);
  std::ranges::copy(slot.pixels.as<uint8_t>().first(count * size_t(bytes_)), pixels.begin());
  std::ranges::copy(slot.labels.as<int32_t>().first(count), labels.begin());
  lock.lock();
  ++wanted_;
  lock.unlock();
  room_.notify_all();
  return int64_t(count);
}

}  // namespace neon
