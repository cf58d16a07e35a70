// A host array: shape, dtype and shared 64-byte aligned storage, row-major and dense. Copies share memory.
#pragma once
#include <cstring>
#include <memory>
#include <span>

#include "neon/core/dtype.h"
#include "neon/core/error.h"
#include "neon/core/shape.h"

namespace neon {

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, f16>) return DType::f16;
  else if constexpr (std::is_same_v<T, bf16>) return DType::bf16;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::i8;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
}

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled. Throws ErrorKind::memory with the size when the machine has no room.
  Tensor(DType dtype, Shape shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype_); }
  bool empty() const { return !storage_; }

  void* data() { return storage_.get(); }
  const void* data() const { return storage_.get(); }
  template <typename T>
  std::span<T> as() {
    if (dtype_of<T>() != dtype_) refuse(dtype_of<T>());
    return {static_cast<T*>(data()), size_t(elements())};
  }
  template <typename T>
  std::span<const T> as() const {
    if (dtype_of<T>() != dtype_) refuse(dtype_of<T>());
    return {static_cast<const T*>(data()), size_t(elements())};
  }

  double at(int64_t index) const;         // element of the flat array, converted
  void set(int64_t index, double value);  // rounded to the dtype
  Tensor clone() const;
  Tensor reshaped(Shape shape) const;  // shares storage; same number of elements
  Tensor converted(DType dtype) const;
  void copy_from(const Tensor& other);  // of the same shape, rounded to this dtype
  // Rows first .. first + count - 1 of axis 0; shares storage.
  Tensor rows(int64_t first, int64_t count) const;

  // Wraps memory that `owner` keeps alive (a mapped file).
  static Tensor wrap(DType dtype, Shape shape, std::shared_ptr<void> owner, void* data);

 private:
  [[noreturn]] void refuse(DType asked) const;  // as what it is not

  DType dtype_ = DType::f32;
  Shape shape_;
  std::shared_ptr<std::byte> storage_;
};

}  // namespace neon
