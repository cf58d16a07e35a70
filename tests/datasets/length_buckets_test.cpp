// Batches by length: each sample once, batches of one bucket, the least padding by trying all lengths.
#include "datasets/length_buckets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "datasets/batch_stream.h"
#include "neon/core/random.h"

using namespace neon;

namespace {

std::vector<int32_t> drawn_lengths(int64_t count, uint32_t longest, uint64_t seed) {
  Stream stream(seed, "lengths");
  std::vector<int32_t> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(int32_t(1 + std::min(stream.below(longest), stream.below(longest))));
  return out;
}

// Steps of all batches of the sorted sequences, each as long as the first of `ends` that takes its longest.
double padded_steps(std::vector<int32_t> lengths, const std::vector<int64_t>& ends, size_t batch) {
  std::ranges::sort(lengths);
  double out = 0;
  for (size_t first = 0; first < lengths.size(); first += batch) {
    const int64_t longest = lengths[std::min(first + batch, lengths.size()) - 1];
    const auto end = std::ranges::lower_bound(ends, longest);
    if (end == ends.end()) return std::numeric_limits<double>::infinity();
    out += double(*end);
  }
  return out;
}

}  // namespace

TEST_CASE("the length of a sequence is that of the steps before its padding") {
  Tensor tokens(DType::i32, {3, 4});
  const std::vector<int32_t> numbers = {5, 0, -1, -1, 0, -1, -1, -1, 7, 7, 7, 7};
  std::ranges::copy(numbers, tokens.as<int32_t>().begin());
  CHECK(sequence_lengths(tokens) == std::vector<int32_t>{2, 1, 4});
  Tensor values(DType::f32, {2, 3, 2});
  for (int64_t i = 0; i < 12; ++i) values.set(i, i >= 2 && i < 6 ? std::nan("") : -double(i));
  CHECK(sequence_lengths(values) == std::vector<int32_t>{1, 3});
}

TEST_CASE("the lengths of buckets leave the least padding of all lengths") {
  constexpr uint32_t kLongest = 9;
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (const int64_t batch : {1, 3, 8}) {
      const std::vector<int32_t> lengths = drawn_lengths(10 + 3 * int64_t(seed), kLongest, seed);
      for (const int64_t count : {1, 2, 3, 20}) {
        INFO("seed " << seed << ", batches of " << batch << ", buckets " << count);
        double least = std::numeric_limits<double>::infinity();
        for (uint32_t chosen = 1; chosen < (1u << kLongest); ++chosen) {
          std::vector<int64_t> ends;
          for (uint32_t k = 0; k < kLongest; ++k)
            if (chosen & (1u << k)) ends.push_back(k + 1);
          if (int64_t(ends.size()) <= count) least = std::min(least, padded_steps(lengths, ends, size_t(batch)));
        }
        const std::vector<int64_t> best = best_buckets(lengths, count, batch);
        CHECK(int64_t(best.size()) <= count);
        CHECK(padded_steps(lengths, best, size_t(batch)) == least);
      }
    }
}

TEST_CASE("a bucket takes what the shorter ones cannot, and the last one the longest") {
  const LengthBuckets buckets = sorted_into_buckets({3, 9, 1, 4, 12}, {2, 3, 8, 10, 50});
  CHECK(buckets.steps == std::vector<int64_t>{2, 3, 8, 10, 12});
  CHECK(buckets.of_sample == std::vector<int32_t>{1, 3, 0, 2, 4});
  // No sequence has 4 to 8 steps.
  CHECK(sorted_into_buckets({3, 9, 1}, {3, 8, 10}).steps == std::vector<int64_t>{3, 9});
}

TEST_CASE("an epoch by length has each sample once, in batches of one bucket, in another order by seed and epoch") {
  constexpr int64_t kSamples = 157, kBatch = 10, kWhole = kSamples / kBatch;
  const std::vector<int32_t> lengths = drawn_lengths(kSamples, 40, 3);
  const SampleBuckets buckets = std::make_shared<const LengthBuckets>(sorted_into_buckets(lengths, {5, 10, 20}));
  REQUIRE(buckets->steps.size() == 4);
  const auto order_of = [&](uint64_t seed, int64_t epoch) {
    return epoch_order(SampleOrder::drawn, kSamples, kBatch, seed, epoch, nullptr, buckets);
  };
  std::set<int32_t> last;
  bool ascending = true;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const std::vector<int32_t> order = order_of(7, epoch);
    CHECK(std::set<int32_t>(order.begin(), order.end()).size() == size_t(kSamples));
    REQUIRE(order.size() == size_t(kSamples));
    int64_t mixed = 0;
    int32_t before = 0;
    for (int64_t k = 0; k < kWhole; ++k) {
      const auto batch = std::span(order).subspan(size_t(k * kBatch), size_t(kBatch));
      std::set<int32_t> found;
      for (const int32_t sample : batch) found.insert(buckets->of_sample[size_t(sample)]);
      mixed += found.size() > 1;
      CHECK(bucket_of_batch(batch, *buckets) == *found.rbegin());
      ascending = ascending && *found.rbegin() >= before;
      before = *found.rbegin();
    }
    CHECK(mixed < int64_t(buckets->steps.size()));  // at most one at each border
    last.insert(order.begin() + kWhole * kBatch, order.end());
    CHECK(order == order_of(7, epoch));
    CHECK(order != order_of(8, epoch));
    CHECK(order != order_of(7, epoch + 1));
  }
  CHECK_FALSE(ascending);
  // Seven samples of any length are left over: 20 epochs leave about 157 (1 - (150 / 157)^20) = 94 different ones.
  CHECK(last.size() > 70);
  // Samples as given stand bucket by bucket, each in their order, up to the last one.
  std::vector<int32_t> given;
  for (size_t bucket = 0; bucket < buckets->steps.size(); ++bucket)
    for (int32_t sample = 0; sample < kSamples; ++sample)
      if (size_t(buckets->of_sample[size_t(sample)]) == bucket) given.push_back(sample);
  CHECK(epoch_order(SampleOrder::as_given, kSamples, kBatch, 7, 0, nullptr, buckets) == given);
}

TEST_CASE("streams: batch j has piece j of each, the pieces of a stream follow one another, and none is lost") {
  for (const auto& [n, batch] : {std::pair{24, 4}, {26, 4}, {3, 4}, {4, 4}, {5, 4}, {1, 1}, {100, 7}}) {
    INFO(n << " samples, " << batch << " in a batch");
    const std::vector<int32_t> order = epoch_order(SampleOrder::streams, n, batch, 1, 0);
    REQUIRE(order.size() == size_t(n));
    const auto streams = size_t(std::min(n, batch));
    std::vector<int32_t> seen;
    for (size_t s = 0; s < streams; ++s)
      for (size_t i = s; i < order.size(); i += streams) seen.push_back(order[i]);
    for (size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == int32_t(i));
  }
}
