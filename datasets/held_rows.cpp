#include "datasets/held_rows.h"

#include <algorithm>

namespace neon {

namespace {

// Bytes that a thread copies before it asks for more, which takes as long as copying a few thousand.
constexpr size_t kBytesOfRead = 65536;

size_t row_bytes(const Tensor& rows) { return rows.empty() ? 0 : rows.bytes() / size_t(rows.shape()[0]); }

void copy_row(const Tensor& from, int64_t index, std::span<std::byte> to) {
  const auto* const rows = static_cast<const std::byte*>(from.data());
  std::copy_n(rows + size_t(index) * to.size(), to.size(), to.begin());
}

}  // namespace

HeldRows::HeldRows(const Split& split)
    : inputs_(split.inputs),
      targets_(split.targets),
      input_bytes_(row_bytes(inputs_)),
      target_bytes_(row_bytes(targets_)),
      at_once_(std::clamp<int64_t>(int64_t(kBytesOfRead / std::max<size_t>(bytes(), 1)), 1, 1024)) {}

void HeldRows::read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target, ReadScratch&) const {
  copy_row(inputs_, index, input);
  if (target_bytes_ > 0) copy_row(targets_, index, target);
}

}  // namespace neon
