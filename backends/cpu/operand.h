// An array that a kernel reads or writes, in the type of its arithmetic: the array itself where that is its type and
// its elements lie together, otherwise a copy that is converted before or after the kernel runs.
#pragma once
#include <optional>

#include "backends/cpu/kernel.h"

namespace neon::cpu {

class Operand {
 public:
  Operand(Context& context, Value value, DType compute);
  // The array that the kernel reads; converted if it is a copy.
  const void* load(int threads);
  // The array that the kernel writes; store() then converts a copy to its place.
  void* place() { return copy_ ? scratch_.at(*copy_) : memory(); }
  void store(int threads);
  bool is_copy() const { return copy_.has_value(); }
  const Shape& shape() const { return type_.shape; }

 private:
  std::byte* memory() const { return static_cast<std::byte*>(*slot_) + first_; }

  void** slot_;
  TensorType type_;
  Placement placement_;  // of what is written in rows apart
  size_t first_ = 0;     // bytes before it, where its elements lie together
  DType compute_;
  Scratch& scratch_;
  std::optional<size_t> copy_;  // in the scratch memory
};

}  // namespace neon::cpu
