#include "neon/core/shape.h"

#include <algorithm>

#include "neon/core/error.h"

namespace neon {

Shape::Shape(std::span<const int64_t> sizes) : rank_(int(sizes.size())) {
  if (sizes.size() > size_t(kMaxRank))
    fail(ErrorKind::config, "a shape has at most ", kMaxRank, " axes, got ", sizes.size());
  std::ranges::copy(sizes, sizes_.begin());
  int64_t elements = 1;
  for (int axis = 0; axis < rank_; ++axis) {
    const int64_t size = sizes[size_t(axis)];
    if (size < 0) fail(ErrorKind::config, "axis ", axis, " has size ", size, ": sizes are at least 0");
    if (__builtin_mul_overflow(elements, size, &elements) || elements > kMostElements)
      fail(ErrorKind::config, "a shape of ", to_string(), " has more than 2^59 elements");
  }
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t size : sizes()) product *= size;
  return product;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(sizes(), other.sizes()); }

std::string Shape::to_string() const {
  std::string out = "(";
  for (int axis = 0; axis < rank_; ++axis) out += text(axis ? ", " : "", sizes_[size_t(axis)]);
  return out + ")";
}

Shape Shape::with(int axis, int64_t size) const {
  std::vector<int64_t> sizes(begin(), end());
  sizes[size_t(axis)] = size;
  return Shape(sizes);
}

Shape Shape::slice(int first, int last) const { return Shape(sizes().subspan(size_t(first), size_t(last - first))); }

Shape Shape::concat(const Shape& tail) const {
  std::vector<int64_t> sizes(begin(), end());
  sizes.insert(sizes.end(), tail.begin(), tail.end());
  return Shape(sizes);
}

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> sizes(static_cast<size_t>(rank));
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1;
    const int64_t y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1)
      fail(ErrorKind::config, "shapes ", a, " and ", b, " do not broadcast: sizes ", x, " and ", y, " of axis -", i,
           " differ and neither is 1");
    sizes[size_t(rank - i)] = x == 1 ? y : x;
  }
  return Shape(sizes);
}

}  // namespace neon
