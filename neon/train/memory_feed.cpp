#include "neon/train/memory_feed.h"

namespace neon {

MemoryFeed::MemoryFeed(const Split& split, const FeedOptions& options)
    : split_(split),
      options_(options),
      batches_((split.size() + options.batch - 1) / options.batch),
      targets_(target_rows(split.targets)) {
  if (!options.weight) return;
  weight_ = Tensor(*options.weight, {batches_ * options.batch, 1});
  for (int64_t i = 0; i < split.size(); ++i) weight_.set(i, 1);
}

void MemoryFeed::bind(Program& program) {
  program.bind_resident("data", split_.inputs.data());
  program.bind_resident("targets", targets_.data());
  if (options_.weight) program.bind_sequence("weight", weight_.data(), weight_.shape()[0]);
  epoch_of_[&program] = -1;
}

void MemoryFeed::begin_epoch(int64_t epoch) {
  order_ = epoch_order(options_.order, split_.size(), options_.batch, options_.seed, epoch, options_.labels,
                       options_.buckets);
  if (options_.weight) order_.resize(size_t(batches_ * options_.batch), order_.back());
  if (options_.samples) {
    samples_.clear();
    for (size_t place = 0; place < order_.size(); ++place)
      samples_.push_back(sample_key(options_.order, order_[place], int64_t(place), epoch));
  }
  order_epoch_ = epoch;
}

bool MemoryFeed::next(Program& program, int64_t number) {
  const int64_t epoch = is_drawn(options_.order) || options_.samples ? number / batches_ : 0;
  if (epoch != order_epoch_) begin_epoch(epoch);
  if (epoch_of_.at(&program) != epoch) {
    program.bind_sequence("indices", order_.data(), int64_t(order_.size()));
    if (options_.samples) program.bind_sequence("samples", samples_.data(), int64_t(samples_.size()));
  }
  epoch_of_[&program] = epoch;
  program.set_first(first_of(number));
  return true;
}

// The first row of this rank's part of a batch.
int64_t MemoryFeed::first_of(int64_t number) const {
  const int64_t first = number % batches_ * options_.batch;
  const int64_t whole = options_.weight ? options_.batch : std::min(options_.batch, split_.size() - first);
  return first + options_.share(whole).first;
}

void MemoryFeed::bind_again(Program& program, int64_t number) {
  program.bind("data", split_.inputs.data());
  program.bind("targets", targets_.data());
  program.bind("indices", order_.data() + first_of(number));
  if (options_.samples) program.bind("samples", samples_.data() + first_of(number));
}

}  // namespace neon
