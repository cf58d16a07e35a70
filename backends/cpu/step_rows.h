// The arrays of a recurrent cell with a row for each step, some parts of one size in each.
#pragma once
#include <optional>

#include "backends/cpu/cell_team.h"
#include "backends/cpu/operand.h"
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

// The units of a share in each part of a row: part k begins `gap` behind part k - 1.
template <typename R>
struct RowParts {
  R* at;
  int64_t gap;
};

// Brings numbers that lie side by side into the cache.
inline void fetch_line(const void* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(static_cast<const std::byte*>(from) + at);
}

// An array (N,T, parts · units). Where only its type differs from R, threads convert the rows that they are at; where
// its rows lie apart, all of it is copied before the steps or after them.
template <typename R>
class StepRows {
 public:
  StepRows(Context& context, Value value, int64_t parts) : parts_(parts), units_(context.type(value).shape[2] / parts) {
    const TensorType& type = context.type(value);
    const Placement& placement = context.lowered.placements[size_t(value.id)];
    if (type.dtype == dtype_of<R>() || placement) {
      whole_.emplace(context, value, dtype_of<R>());
      return;
    }
    slot_ = context.slot(value);
    type_ = type.dtype;
    size_ = size_of(type.dtype);
    load_ = elementwise::load_function(type.dtype, dtype_of<R>());
    store_ = elementwise::store_function(dtype_of<R>(), type.dtype);
  }

  // Before the steps, of an array that is read, or written; and after them, of one that was written.
  void begin_reading(int threads) {
    if (whole_) base_ = const_cast<R*>(static_cast<const R*>(whole_->load(threads)));
  }
  void begin_writing() {
    if (whole_) base_ = static_cast<R*>(whole_->place());
  }
  void end_writing(int threads) {
    if (whole_) whole_->store(threads);
  }

  // The parts of a row that a share has: where they are, or in `spare`, of parts · units numbers.
  RowParts<const R> read(int64_t row, const CellShare& share, R* spare) const {
    if (whole_) return {base_ + first(row, share), units_};
    for (int64_t part = 0; part < parts_; ++part)
      load_(stored(first(row, share) + part * units_), spare + part * share.units, share.units);
    return {spare, share.units};
  }
  // Brings the parts of a row into the cache.
  void fetch(int64_t row, const CellShare& share) const {
    const std::byte* from = whole_ ? reinterpret_cast<const std::byte*>(base_) : static_cast<const std::byte*>(*slot_);
    const size_t size = whole_ ? sizeof(R) : size_;
    for (int64_t part = 0; part < parts_; ++part)
      fetch_line(from + size_t(first(row, share) + part * units_) * size, size_t(share.units) * size);
  }
  // Whether the rows lie in memory as T: R, or the bits of bf16; and the parts of a row that a share has there.
  template <typename T>
  bool lie_as() const {
    return std::is_same_v<T, R> ? bool(whole_) : !whole_ && type_ == DType::bf16;
  }
  template <typename T>
  RowParts<T> parts_as(int64_t row, const CellShare& share) const {
    if constexpr (std::is_same_v<T, R>) return {base_ + first(row, share), units_};
    else return {reinterpret_cast<T*>(stored(first(row, share))), units_};
  }
  // The places to write them to; keep() must follow with the same arguments.
  RowParts<R> place(int64_t row, const CellShare& share, R* spare) const {
    if (whole_) return {base_ + first(row, share), units_};
    return {spare, share.units};
  }
  void keep(int64_t row, const CellShare& share, const R* spare) const {
    if (whole_) return;
    for (int64_t part = 0; part < parts_; ++part)
      store_(spare + part * share.units, stored(first(row, share) + part * units_), share.units);
  }

 private:
  int64_t first(int64_t row, const CellShare& share) const { return row * parts_ * units_ + share.first_unit; }
  std::byte* stored(int64_t element) const { return static_cast<std::byte*>(*slot_) + size_t(element) * size_; }

  int64_t parts_, units_;
  std::optional<Operand> whole_;
  R* base_ = nullptr;
  void** slot_ = nullptr;
  DType type_ = dtype_of<R>();
  size_t size_ = 0;
  elementwise::ConvertFunction load_ = nullptr, store_ = nullptr;
};

}  // namespace neon::cpu
