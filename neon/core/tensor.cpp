#include "neon/core/tensor.h"

#include <sys/mman.h>

#include <cstdlib>

namespace neon {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t(2) << 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kMapped = SIZE_MAX;  // the sanitizer watches what the allocator gives, and nothing else
#else
constexpr size_t kMapped = kHugePage / 2;
#endif

// Zeros for which the system gives memory when they are first touched: what is only described costs nothing, and where
// whole huge pages are to be had, rows that follow each other do not compete for the same lines of a cache. Null where
// there is no room.
std::shared_ptr<std::byte> mapped_zeros(size_t bytes) {
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage, taken = whole + kHugePage;
  void* const begin = mmap(nullptr, taken, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  auto* const memory = reinterpret_cast<std::byte*>((uintptr_t(begin) + kHugePage - 1) / kHugePage * kHugePage);
  madvise(memory, whole, MADV_HUGEPAGE);  // a wish
  return {memory, [begin, taken](std::byte*) { munmap(begin, taken); }};
}

std::shared_ptr<std::byte> allocated_zeros(size_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
  if (!memory) return nullptr;
  std::memset(memory, 0, bytes);
  return {memory, [](std::byte* p) { std::free(p); }};
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(shape) {
  const size_t padded = (bytes() + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  storage_ = padded < kMapped ? allocated_zeros(padded) : mapped_zeros(padded);
  if (!storage_)
    fail(ErrorKind::memory, "no memory for an array ", shape, " of ", dtype, ": ", bytes_text(double(padded)));
}

double Tensor::at(int64_t index) const {
  return dispatch(dtype_, [&]<typename T>() { return load_as<double>(static_cast<const T*>(data())[index]); });
}

void Tensor::set(int64_t index, double value) {
  dispatch(dtype_, [&]<typename T>() { static_cast<T*>(data())[index] = store_as<T>(value); });
}

Tensor Tensor::clone() const {
  Tensor out(dtype_, shape_);
  if (bytes()) std::memcpy(out.data(), data(), bytes());
  return out;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (shape.elements() != elements())
    fail(ErrorKind::config, "cannot reshape ", shape_, " with ", elements(), " elements to ", shape, " with ",
         shape.elements());
  Tensor out = *this;
  out.shape_ = shape;
  return out;
}

void Tensor::copy_from(const Tensor& other) {
  NEON_ASSERT(other.shape_ == shape_);
  const Tensor from = other.dtype_ == dtype_ ? other : other.converted(dtype_);
  if (bytes()) std::memcpy(data(), from.data(), bytes());
}

Tensor Tensor::converted(DType dtype) const {
  Tensor out(dtype, shape_);
  dispatch(dtype_, [&]<typename From>() {
    dispatch(dtype, [&]<typename To>() {
      const auto* from = static_cast<const From*>(data());
      auto* to = static_cast<To*>(out.data());
      const int64_t count = elements();
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<From, To>) to[i] = from[i];
        else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) to[i] = To(from[i]);
        else to[i] = store_as<To>(load_as<double>(from[i]));
      }
    });
  });
  return out;
}

Tensor Tensor::rows(int64_t first, int64_t count) const {
  NEON_ASSERT(shape_.rank() >= 1 && first >= 0 && count >= 0 && first + count <= shape_[0]);
  Tensor out = *this;
  out.shape_ = shape_.with(0, count);
  const size_t row_bytes = shape_[0] ? bytes() / size_t(shape_[0]) : 0;
  out.storage_ = {storage_, storage_.get() + size_t(first) * row_bytes};
  return out;
}

Tensor Tensor::wrap(DType dtype, Shape shape, std::shared_ptr<void> owner, void* data) {
  Tensor out;
  out.dtype_ = dtype;
  out.shape_ = shape;
  out.storage_ = {std::move(owner), static_cast<std::byte*>(data)};
  return out;
}

void Tensor::refuse(DType asked) const {
  fail(ErrorKind::config, "a tensor of ", dtype_, " is no array of ", asked, "; converted(DType::", asked,
       ") makes one");
}

}  // namespace neon
