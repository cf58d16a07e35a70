// Rows of arrays in memory, read as samples of files are: the set does not fit in a GPU's memory.
#pragma once
#include "datasets/dataset.h"

namespace neon {

class HeldRows final : public RowReader {
 public:
  explicit HeldRows(const Split& split);  // which has arrays, and shares them
  int64_t size() const override { return inputs_.shape()[0]; }
  size_t input_bytes() const override { return input_bytes_; }
  size_t target_bytes() const override { return target_bytes_; }
  int64_t at_once() const override { return at_once_; }
  void read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                ReadScratch& scratch) const override;

 private:
  const Tensor inputs_, targets_;
  const size_t input_bytes_, target_bytes_;
  const int64_t at_once_;
};

}  // namespace neon
