#include "datasets/length_buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "neon/core/error.h"
#include "neon/core/random.h"

namespace neon {

std::vector<int32_t> sequence_lengths(const Tensor& sequences) {
  const Shape& shape = sequences.shape();
  NEON_ASSERT(shape.rank() == 2 || shape.rank() == 3);
  const int64_t n = shape[0], steps = shape[1], numbers = shape.elements() / std::max<int64_t>(n * steps, 1);
  const bool tokens = !is_floating(sequences.dtype());
  std::vector<int32_t> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t t = 0; t < steps; ++t) {
      const double first = sequences.at((i * steps + t) * numbers);  // padding is a whole step
      out[size_t(i)] += tokens ? first >= 0 : !std::isnan(first);
    }
  return out;
}

namespace {

// Batches of sorted sequences, and the longest sequence of the last of them.
struct BatchGroup {
  int64_t batches = 0, longest = 0;
};

std::vector<BatchGroup> groups_of(std::vector<int32_t> lengths, int64_t batch) {
  constexpr int64_t kMostGroups = 512;
  std::ranges::sort(lengths);
  const auto samples = int64_t(lengths.size());
  const int64_t batches = (samples + batch - 1) / batch, count = std::min(batches, kMostGroups);
  std::vector<BatchGroup> out;
  for (int64_t k = 0, before = 0; k < count; ++k) {
    const int64_t end = (k + 1) * batches / count;
    out.push_back({end - before, lengths[size_t(std::min(end * batch, samples) - 1)]});
    before = end;
  }
  return out;
}

}  // namespace

// Dynamic programming: the least steps of the first i groups in j buckets end with a bucket of the groups h to i.
std::vector<int64_t> best_buckets(std::vector<int32_t> lengths, int64_t count, int64_t batch) {
  const std::vector<BatchGroup> groups = groups_of(std::move(lengths), batch);
  const size_t n = groups.size(), most = std::min(size_t(count), n);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(most + 1, std::vector<double>(n + 1, kNever));
  std::vector<std::vector<size_t>> begins(most + 1, std::vector<size_t>(n + 1));
  least[0][0] = 0;
  for (size_t j = 1; j <= most; ++j)
    for (size_t i = j; i <= n; ++i) {
      double batches = 0;
      for (size_t h = i; h-- > j - 1;) {
        batches += double(groups[h].batches);
        const double steps = least[j - 1][h] + batches * double(groups[i - 1].longest);
        if (steps < least[j][i]) least[j][i] = steps, begins[j][i] = h;
      }
    }
  std::vector<int64_t> out;
  for (size_t j = most, i = n; j > 0; i = begins[j--][i]) out.push_back(groups[i - 1].longest);
  std::ranges::reverse(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

LengthBuckets sorted_into_buckets(std::vector<int32_t> lengths, const std::vector<int64_t>& steps) {
  std::vector<int64_t> ends = steps;
  if (!lengths.empty()) {
    const int64_t longest = *std::ranges::max_element(lengths);
    std::erase_if(ends, [&](int64_t end) { return end >= longest; });
    ends.push_back(longest);
  }
  const auto bucket_of = [](const std::vector<int64_t>& of, int32_t length) {
    return size_t(std::ranges::lower_bound(of, int64_t(length)) - of.begin());
  };
  std::vector<bool> used(ends.size());
  for (const int32_t length : lengths) used[bucket_of(ends, length)] = true;
  LengthBuckets out;
  for (size_t k = 0; k < ends.size(); ++k)
    if (used[k]) out.steps.push_back(ends[k]);
  for (const int32_t length : lengths) out.of_sample.push_back(int32_t(bucket_of(out.steps, length)));
  out.lengths = std::move(lengths);
  return out;
}

void count_labels(const Tensor& targets, LengthBuckets& buckets) {
  const std::vector<int32_t> counts = sequence_lengths(targets);
  buckets.labels.assign(buckets.steps.size(), 1);
  for (size_t i = 0; i < counts.size(); ++i) {
    int64_t& most = buckets.labels[size_t(buckets.of_sample[i])];
    most = std::max<int64_t>(most, counts[i]);
  }
  for (size_t k = 1; k < buckets.labels.size(); ++k)
    buckets.labels[k] = std::max(buckets.labels[k], buckets.labels[k - 1]);
}

void form_batches(std::vector<int32_t>& order, int64_t batch, const LengthBuckets& buckets, uint64_t seed,
                  int64_t epoch) {
  const auto batches = int64_t(order.size()) / batch;
  std::stable_sort(order.begin(), order.begin() + batches * batch,
                   [&](int32_t a, int32_t b) { return buckets.of_sample[size_t(a)] < buckets.of_sample[size_t(b)]; });
  const std::vector<int32_t> sorted = order;
  std::vector<int32_t> drawn(static_cast<size_t>(batches));
  std::iota(drawn.begin(), drawn.end(), 0);
  Stream stream(seed, "order of buckets", uint64_t(epoch));
  for (size_t i = drawn.size(); i > 1; --i) std::swap(drawn[i - 1], drawn[stream.below(uint32_t(i))]);
  for (int64_t k = 0; k < batches; ++k)
    std::copy_n(sorted.begin() + drawn[size_t(k)] * batch, batch, order.begin() + k * batch);
}

int32_t bucket_of_batch(std::span<const int32_t> samples, const LengthBuckets& buckets) {
  int32_t out = 0;
  for (const int32_t sample : samples) out = std::max(out, buckets.of_sample[size_t(sample)]);
  return out;
}

}  // namespace neon
