// Samples that are read one by one, by several threads at once: what does not fit in memory, or not in a GPU's.
#pragma once
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "datasets/resize.h"
#include "neon/core/dtype.h"
#include "neon/core/shape.h"

namespace neon {

// Samples that could not be read and were left out; by any thread.
class LeftOut {
 public:
  void add(int64_t index, const std::string& trouble) {
    const std::lock_guard lock(mutex_);
    troubles_.emplace(index, trouble);
  }
  int64_t count() const {
    const std::lock_guard lock(mutex_);
    return int64_t(troubles_.size());
  }
  // The troubles of all, by their samples.
  std::map<int64_t, std::string> all() const {
    const std::lock_guard lock(mutex_);
    return troubles_;
  }
  // The trouble of the first sample left out, in the order of the set.
  std::string first() const {
    const std::lock_guard lock(mutex_);
    return troubles_.empty() ? "" : troubles_.begin()->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<int64_t, std::string> troubles_;
};

// Memory and a plan for resizing that a thread keeps from sample to sample, because both cost time to make.
struct ReadScratch {
  std::string file;
  Resizer resizer;
};

// Samples as a row of bytes each, and one of what is learned of it: what batches are made of.
class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual int64_t size() const = 0;
  virtual size_t input_bytes() const = 0;   // of a sample
  virtual size_t target_bytes() const = 0;  // 0: the target is the input itself
  size_t bytes() const { return input_bytes() + target_bytes(); }
  virtual DType dtype() const { return DType::i32; }         // of inputs
  virtual DType target_dtype() const { return DType::i32; }  // i32 or f32
  virtual Shape target() const { return {}; }                // of a sample; rank 0: that of the input
  // Classes that are known without reading: label i of label_count(), of samples or of the boxes in them.
  virtual int64_t label_count() const { return 0; }
  virtual int32_t label(int64_t) const { return -1; }
  // Samples that a thread takes at once: a few, so that all threads work on the batch needed next.
  virtual int64_t at_once() const { return 8; }
  // By any thread, each with a scratch of its own; throws a data error.
  virtual void read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                        ReadScratch& scratch) const = 0;
  // Whether samples that cannot be read are left out, and noted here; otherwise they end the run.
  virtual LeftOut* left_out() const { return nullptr; }
};

// Images u8 with i32 class labels.
class SampleReader : public RowReader {
 public:
  virtual Shape sample() const = 0;  // (C,H,W); it lies (H,W,C)
  int32_t label(int64_t index) const override = 0;
  // Writes the sample's pixels and returns its label; as read_row.
  virtual int32_t read(int64_t index, std::span<uint8_t> pixels, ReadScratch& scratch) const = 0;
  // A checksum of the bytes that the sample is read from, undecoded; throws a data error.
  virtual uint32_t checksum(int64_t index) const = 0;
  // Whether checksum() reads no sample, as where a table holds the sums.
  virtual bool knows_checksums() const { return false; }

  size_t input_bytes() const final { return size_t(sample().elements()); }
  size_t target_bytes() const final { return sizeof(int32_t); }
  DType dtype() const final { return DType::u8; }
  Shape target() const final { return {1}; }
  int64_t label_count() const final { return size(); }
  void read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                ReadScratch& scratch) const final {
    const int32_t label = read(index, {reinterpret_cast<uint8_t*>(input.data()), input.size()}, scratch);
    std::memcpy(target.data(), &label, sizeof label);
  }
};

}  // namespace neon
