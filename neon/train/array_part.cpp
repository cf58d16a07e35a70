#include "neon/train/array_part.h"

namespace neon {

namespace {

// Calls run(place in the whole, place in the part, bytes) for each piece that lies in one place.
void each_piece(const Tensor& whole, int axis, int64_t first, int64_t count, auto&& run) {
  const Shape& shape = whole.shape();
  const int64_t inner = shape.slice(axis + 1, shape.rank()).elements() * int64_t(size_of(whole.dtype()));
  const int64_t outer = shape.slice(0, axis).elements(), all = shape[axis];
  for (int64_t k = 0; k < outer; ++k)
    run(size_t((k * all + first) * inner), size_t(k * count * inner), size_t(count * inner));
}

}  // namespace

Tensor part_of(const Tensor& whole, int axis, int64_t first, int64_t count) {
  if (axis == 0) return whole.rows(first, count);
  Tensor out(whole.dtype(), whole.shape().with(axis, count));
  const auto* const from = static_cast<const std::byte*>(whole.data());
  auto* const to = static_cast<std::byte*>(out.data());
  each_piece(whole, axis, first, count,
             [&](size_t place, size_t own, size_t bytes) { std::memcpy(to + own, from + place, bytes); });
  return out;
}

void put_part(Tensor& whole, int axis, int64_t first, const Tensor& part) {
  const auto* const from = static_cast<const std::byte*>(part.data());
  auto* const to = static_cast<std::byte*>(whole.data());
  each_piece(whole, axis, first, part.shape()[axis],
             [&](size_t place, size_t own, size_t bytes) { std::memcpy(to + place, from + own, bytes); });
}

}  // namespace neon
