// The bucket of each batch, against the samples that an epoch's order gives it.
#include "neon/train/batch_buckets.h"

#include <catch2/catch.hpp>

#include "neon/core/random.h"

using namespace neon;

TEST_CASE("a batch is of the bucket of its longest sample, and runs of one bucket are counted") {
  constexpr int64_t kSamples = 45, kBatch = 4, kSteps = 9, kBatches = 12;
  Split split;
  split.inputs = Tensor(DType::i32, {kSamples, kSteps});
  split.targets = Tensor(DType::i32, {kSamples});
  std::vector<int32_t> lengths;
  Stream stream(2, "lengths");
  for (int64_t i = 0; i < kSamples; ++i) {
    lengths.push_back(int32_t(1 + stream.below(kSteps)));
    for (int64_t t = 0; t < kSteps; ++t) split.inputs.set(i * kSteps + t, t < lengths.back() ? 1 : -1);
    split.targets.set(i, double(i % 3));
  }
  for (const SampleOrder order : {SampleOrder::drawn, SampleOrder::balanced}) {
    FeedOptions options;
    options.batch = kBatch, options.seed = 5, options.order = order;
    options.buckets =
        std::make_shared<const LengthBuckets>(sorted_into_buckets(sequence_lengths(split.inputs), {3, 6}));
    BatchBuckets buckets(split, options);
    REQUIRE(buckets.count() == 3);
    const auto ends = [&](size_t bucket) { return bucket == 0 ? 3 : bucket == 1 ? 6 : 9; };
    const auto longest = [&](int64_t number) {
      const std::vector<int32_t> samples =
          epoch_order(order, kSamples, kBatch, 5, number / kBatches, labels_to_draw_by(order, split), options.buckets);
      int32_t out = 0;
      for (int64_t i = 0; i < kBatch; ++i)
        out = std::max(out, lengths[size_t(samples[size_t(number % kBatches * kBatch + i)])]);
      return out;
    };
    bool together = false;
    for (int64_t number = 0; number < 3 * kBatches; ++number) {
      if (number % kBatches == kBatches - 1) {  // one sample, of any length
        CHECK(buckets.of(number) == 2);
        continue;
      }
      const size_t bucket = buckets.of(number);
      CHECK(longest(number) <= ends(bucket));
      CHECK((bucket == 0 || longest(number) > ends(bucket - 1)));
      CHECK(buckets.work(number) == double(ends(bucket)) / 9);
      const int64_t left = kBatches - 1 - number % kBatches, alike = buckets.alike(number, left);
      REQUIRE((alike >= 1 && alike <= left));
      for (int64_t k = 0; k < alike; ++k) CHECK(buckets.of(number + k) == bucket);
      if (alike < left) CHECK(buckets.of(number + alike) != bucket);
      together = together || alike > 1;
    }
    CHECK(together);
  }
}

TEST_CASE("a bucket has the labels of its samples and of those of the buckets before it") {
  // Steps 2, 5, 1, 3, 6 in buckets of 2, 4 and 6; the longest target of the first bucket has 3 labels, of the second 1.
  LengthBuckets buckets = sorted_into_buckets({2, 5, 1, 3, 6}, {2, 4});
  REQUIRE(buckets.steps == std::vector<int64_t>{2, 4, 6});
  const int labels[] = {3, 2, 0, 1, 4};
  Tensor targets(DType::i32, {5, 7});
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t l = 0; l < 7; ++l) targets.set(i * 7 + l, l < labels[i] ? double(l) : -1);
  count_labels(targets, buckets);
  CHECK(buckets.labels == std::vector<int64_t>{3, 3, 4});
  DataLayout data;
  data.sample = {6, 2}, data.target = {7}, data.classes = 7, data.label_of = LabelOf::sequence, data.ragged = true;
  const DataLayout cut = data.with_steps(2, 3), uncut = data.with_steps(2);
  CHECK(cut.target == Shape{3});
  CHECK(cut.held_labels == 7);
  CHECK(uncut.target == Shape{7});
  // A class for the sample as a whole is no sequence of labels.
  data.label_of = LabelOf::sample, data.target = {1};
  CHECK(data.with_steps(2, 3).target == Shape{1});
}
