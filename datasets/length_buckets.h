// Sequences of similar lengths in one batch, which is padded to the length of its bucket alone.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "neon/core/tensor.h"

namespace neon {

struct LengthBuckets {
  std::vector<int64_t> steps;      // of the longest sequence that a bucket takes, ascending
  std::vector<int32_t> lengths;    // of each sample, in steps
  std::vector<int32_t> of_sample;  // the first bucket that takes it
  // The most labels that batches of a bucket may have, where targets have lengths of their own; otherwise empty.
  std::vector<int64_t> labels = {};
};
// Null: batches are formed without regard to lengths.
using SampleBuckets = std::shared_ptr<const LengthBuckets>;

// The steps of each sequence (n,T) of tokens, with -1 behind the last one, or (n,T,F) of numbers, with NaN behind.
std::vector<int32_t> sequence_lengths(const Tensor& sequences);

// The lengths of at most so many buckets with which batches have the least padding. They are ends of batches of the
// sorted sequences; of many batches, of groups of batches.
std::vector<int64_t> best_buckets(std::vector<int32_t> lengths, int64_t count, int64_t batch);

// Buckets of these steps, ascending, and one for the longest sequence. A bucket without a sequence is left out.
LengthBuckets sorted_into_buckets(std::vector<int32_t> lengths, const std::vector<int64_t>& steps);

// Finds the most labels of each bucket's batches. They may have samples of the buckets before it, too. `targets` (n,L)
// has -1 behind the last label of a sample.
void count_labels(const Tensor& targets, LengthBuckets& buckets);

// Changes the order of an epoch so that the samples of a batch are of one bucket, or, where a bucket's last samples do
// not fill a batch, of it and the next ones. The order of the batches is drawn by seed and epoch. The last samples of
// `order` that do not fill a batch stay there.
void form_batches(std::vector<int32_t>& order, int64_t batch, const LengthBuckets& buckets, uint64_t seed,
                  int64_t epoch);

// The bucket of the longest of these samples.
int32_t bucket_of_batch(std::span<const int32_t> samples, const LengthBuckets& buckets);

}  // namespace neon
