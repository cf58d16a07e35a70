#include "datasets/batch_stream.h"

#include <algorithm>
#include <numeric>

#include "datasets/balanced_order.h"
#include "neon/core/error.h"
#include "neon/core/random.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

std::vector<int32_t> order_of_streams(int64_t n, int64_t batch) {
  const int64_t streams = std::min(n, batch), pieces = n / streams, longer = n % streams;
  std::vector<int32_t> out;
  for (int64_t piece = 0; piece <= pieces; ++piece)
    for (int64_t s = 0; s < (piece < pieces ? streams : longer); ++s)
      out.push_back(int32_t(s * pieces + std::min(s, longer) + piece));
  return out;
}

std::vector<int32_t> order_without_buckets(SampleOrder order, int64_t n, int64_t batch, uint64_t seed, int64_t epoch,
                                           const SampleLabels& labels) {
  if (order == SampleOrder::balanced) return balanced_order(*labels, seed, epoch);
  if (order == SampleOrder::streams) return order_of_streams(n, batch);
  std::vector<int32_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  if (order == SampleOrder::as_given) return out;
  Stream stream(seed, "order", uint64_t(epoch));
  for (size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[stream.below(uint32_t(i))]);
  return out;
}

}  // namespace

std::vector<int32_t> epoch_order(SampleOrder order, int64_t n, int64_t batch, uint64_t seed, int64_t epoch,
                                 const SampleLabels& labels, const SampleBuckets& buckets) {
  std::vector<int32_t> out = order_without_buckets(order, n, batch, seed, epoch, labels);
  if (buckets && is_drawn(order)) form_batches(out, batch, *buckets, seed, epoch);
  if (buckets && order == SampleOrder::as_given)
    std::ranges::stable_sort(out, {}, [&](int32_t sample) { return buckets->of_sample[size_t(sample)]; });
  return out;
}

BatchStream::BatchStream(const RowReader& reader, const StreamOptions& options, std::vector<BatchSlot> slots)
    : reader_(reader),
      options_(options),
      batches_((reader.size() + options.batch - 1) / options.batch),
      input_bytes_(reader.input_bytes()),
      target_bytes_(reader.target_bytes()),
      slots_(slots.size()),
      wanted_(options.first),
      released_(options.first),
      claimed_(options.first) {
  NEON_ASSERT(options.batch > 0 && !slots.empty() && reader.size() > 0);
  for (size_t i = 0; i < slots.size(); ++i) {
    NEON_ASSERT(slots[i].inputs.size() == size_t(options.most()) * input_bytes_);
    NEON_ASSERT(slots[i].targets.size() == size_t(options.most()) * target_bytes_);
    NEON_ASSERT(slots[i].samples.empty() || slots[i].samples.size() == size_t(options.most()));
    slots_[i].memory = slots[i];
  }
  const int threads = options.threads > 0 ? options.threads : available_threads();
  start(threads);
}

BatchStream::~BatchStream() { stop(); }

void BatchStream::start(int threads) {
  threads_.reserve(size_t(threads));
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::exception& error) {
    stop();
    fail(ErrorKind::memory, "only ", threads_.size(), " of the ", threads,
         " threads that are to read samples can be started: ", reason_of(error, "the system refuses"),
         "; is there a limit on processes or memory? OMP_NUM_THREADS=N asks for fewer");
  }
}

void BatchStream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BatchStream::make_order(int64_t epoch) {
  if (epoch == order_epoch_) return;
  order_ = std::make_shared<const std::vector<int32_t>>(epoch_order(
      options_.order, reader_.size(), options_.batch, options_.seed, epoch, options_.labels, options_.buckets));
  order_epoch_ = epoch;
}

// A batch's turn has come: what it is made of. Under the lock. False: it has no samples, only its trouble.
bool BatchStream::begin(int64_t number) {
  Slot& slot = slot_of(number);
  slot.epoch = number / batches_;
  slot.first = number % batches_ * options_.batch;
  slot.count = slot.done = 0;
  slot.bad = -1;
  slot.left_out.clear();
  try {
    make_order(slot.epoch);
  } catch (...) {
    slot.bad = 0;
    slot.trouble = std::current_exception();
    return false;
  }
  slot.order = order_;
  const BatchShare share = options_.share(std::min(options_.batch, reader_.size() - slot.first));
  slot.first += share.first;
  slot.count = share.count;
  return true;
}

// Waits for something to do; false when there will be nothing any more.
bool BatchStream::claim(Task& task, std::unique_lock<std::mutex>& lock) {
  while (true) {
    room_.wait(lock, [&] { return stops_ || claimed_ < released_ + int64_t(slots_.size()); });
    if (stops_) return false;
    if (claimed_places_ > 0 || begin(claimed_)) break;
    ++claimed_;
    ready_.notify_all();
  }
  Slot& slot = slot_of(claimed_);
  task = {&slot, claimed_places_, std::min(slot.count, claimed_places_ + reader_.at_once())};
  claimed_places_ = task.last;
  if (task.last == slot.count) ++claimed_, claimed_places_ = 0;
  return true;
}

void BatchStream::work() {
  std::unique_lock lock(mutex_);
  Task task;
  ReadScratch scratch;
  while (claim(task, lock)) {
    lock.unlock();
    read(task, scratch);
    lock.lock();
    task.slot->done += task.last - task.first;
    if (task.slot->done == task.slot->count) ready_.notify_all();
  }
}

void BatchStream::read(const Task& task, ReadScratch& scratch) {
  Slot& slot = *task.slot;
  for (int64_t i = task.first; i < task.last && !stops_; ++i) try {
      read_sample(slot, i, scratch);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (slot.bad >= 0 && slot.bad < i) continue;
      slot.bad = i;
      slot.trouble = std::current_exception();
    }
}

std::span<std::byte> BatchStream::input(const Slot& slot, int64_t place) const {
  return slot.memory.inputs.subspan(size_t(place) * input_bytes_, input_bytes_);
}

std::span<std::byte> BatchStream::target(const Slot& slot, int64_t place) const {
  return slot.memory.targets.subspan(size_t(place) * target_bytes_, target_bytes_);
}

void BatchStream::read_sample(Slot& slot, int64_t place, ReadScratch& scratch) {
  const int64_t in_epoch = slot.first + place;
  int64_t index = (*slot.order)[size_t(in_epoch)];
  for (int64_t tried = 1;; ++tried) try {
      reader_.read_row(index, input(slot, place), target(slot, place), scratch);
      if (!slot.memory.samples.empty())
        slot.memory.samples[size_t(place)] = sample_key(options_.order, index, in_epoch, slot.epoch);
      return;
    } catch (const Error& error) {
      // Whatever else goes wrong, want of memory say, is nothing that the sample can help.
      if (error.kind() != ErrorKind::data || tried == reader_.size()) throw;
      if (!leave_out(slot, place, index, error.what())) throw;
      if (!options_.stand_ins) return;
      index = (index + 1) % reader_.size();
    }
}

// False where it may not be.
bool BatchStream::leave_out(Slot& slot, int64_t place, int64_t index, const std::string& trouble) {
  LeftOut* const noted = reader_.left_out();
  if (!noted) return false;
  noted->add(index, trouble);
  if (options_.stand_ins) return true;
  std::ranges::fill(input(slot, place), std::byte(0));
  std::ranges::fill(target(slot, place), std::byte(0));
  const std::lock_guard lock(mutex_);
  slot.left_out.push_back(place);
  return true;
}

bool BatchStream::is_there(int64_t number) {
  const Slot& slot = slot_of(number);
  return claimed_ > number && slot.done == slot.count;
}

int64_t BatchStream::take(int64_t number, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  NEON_ASSERT(number == wanted_);
  if (!ready_.wait_for(lock, most, [&] { return is_there(number); })) return 0;
  const Slot& slot = slot_of(number);
  if (slot.bad >= 0) std::rethrow_exception(slot.trouble);
  ++wanted_;
  return slot.count;
}

void BatchStream::release() {
  {
    const std::lock_guard lock(mutex_);
    NEON_ASSERT(released_ < wanted_);
    ++released_;
  }
  room_.notify_all();
}

}  // namespace neon
