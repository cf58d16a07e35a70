#include "neon/train/batch_buckets.h"

namespace neon {

BatchBuckets::BatchBuckets(const Split& split, const FeedOptions& options)
    : options_(options), samples_(split.size()), batches_((split.size() + options.batch - 1) / options.batch) {
  if (options_.buckets && !options_.labels) options_.labels = labels_to_draw_by(options.order, split);
}

DataLayout BatchBuckets::layout(const DataLayout& data, size_t bucket) const {
  if (!options_.buckets) return data;
  const LengthBuckets& buckets = *options_.buckets;
  return data.with_steps(buckets.steps[bucket], buckets.labels.empty() ? 0 : buckets.labels[bucket]);
}

size_t BatchBuckets::of(int64_t number) {
  if (count() == 1) return 0;
  if (const int64_t epoch = number / batches_; epoch != epoch_) {
    const std::vector<int32_t> order =
        epoch_order(options_.order, samples_, options_.batch, options_.seed, epoch, options_.labels, options_.buckets);
    of_batch_.assign(size_t(batches_), int32_t(count()) - 1);
    const auto batch = size_t(options_.batch);
    for (size_t k = 0; (k + 1) * batch <= order.size(); ++k)
      of_batch_[k] = bucket_of_batch(std::span(order).subspan(k * batch, batch), *options_.buckets);
    epoch_ = epoch;
  }
  return size_t(of_batch_[size_t(number % batches_)]);
}

int64_t BatchBuckets::alike(int64_t number, int64_t most) {
  if (count() == 1) return most;
  const size_t bucket = of(number);
  int64_t out = 1;
  while (out < most && of(number + out) == bucket) ++out;
  return out;
}

double BatchBuckets::work(int64_t number) {
  if (count() == 1) return 1;
  return double(options_.buckets->steps[of(number)]) / double(options_.buckets->steps.back());
}

}  // namespace neon
