// What only moves elements, or makes them of nothing.
#include <cmath>

#include "tests/array/random_expressions.h"

namespace neon::test {

std::pair<Array, std::vector<int64_t>> RandomExpressions::part(Array array) {
  std::vector<int64_t> from;
  for (int64_t i = 0; i < array.elements(); ++i) from.push_back(i);
  for (int i = below(3); i >= 0; --i) {
    const auto [lazy, there] = view_of(array);
    std::vector<int64_t> next;
    for (int64_t place : there) next.push_back(from[size_t(place)]);
    from = std::move(next);
    array = Array(Array::Place{}, lazy.node());
  }
  return {array, from};
}

// Slices, transposes and reshapes.
std::pair<Lazy, std::vector<int64_t>> RandomExpressions::view_of(const Lazy& x) {
  const Shape& shape = x.shape();
  const int rank = shape.rank();
  std::vector<int64_t> from;
  if (rank == 0 || chance(30)) {
    std::vector<int64_t> sizes(shape.begin(), shape.end());
    const int way = below(3);
    if (way == 0) sizes = {-1};
    if (way == 1 && rank > 1) sizes = {shape[rank - 1], -1};
    if (way == 2) sizes.insert(sizes.begin() + below(sizes.size() + 1), 1);
    for (int64_t i = 0; i < shape.elements(); ++i) from.push_back(i);
    return {sizes.size() > 6 ? x : x.reshape(sizes), from};
  }
  if (chance(50)) {
    const int axis = below(size_t(rank));
    const int64_t first = below(size_t(shape[axis])), count = 1 + below(size_t(shape[axis] - first));
    each_index(shape.with(axis, count), [&](Index index) {
      index[size_t(axis)] += first;
      from.push_back(flat(index, shape));
    });
    return {x.slice(chance(30) ? axis - rank : axis, first, count), from};
  }
  std::vector<int64_t> axes(shape.begin(), shape.end()), sizes;
  for (int i = 0; i < rank; ++i) axes[size_t(i)] = i;
  for (int i = rank - 1; i > 0; --i) std::swap(axes[size_t(i)], axes[size_t(below(size_t(i + 1)))]);
  for (int64_t axis : axes) sizes.push_back(shape[int(axis)]);
  each_index(Shape(std::span<const int64_t>(sizes)), [&](const Index& index) {
    Index there(size_t(rank), 0);
    for (int i = 0; i < rank; ++i) there[size_t(axes[size_t(i)])] = index[size_t(i)];
    from.push_back(flat(there, shape));
  });
  return {x.transpose(axes), from};
}
void RandomExpressions::rows() {
  const Known x = any();
  if (x.shape.rank() == 0) return unary();
  const int axis = below(size_t(x.shape.rank()));
  const int64_t count = 1 + below(9);
  Tensor indices(DType::i32, {count});
  for (int64_t i = 0; i < count; ++i) indices.set(i, below(size_t(x.shape[axis])));
  std::vector<int64_t> from;
  each_index(x.shape.with(axis, count), [&](Index index) {
    index[size_t(axis)] = int64_t(indices.at(index[size_t(axis)]));
    from.push_back(flat(index, x.shape));
  });
  keep(moved(x, take(x.lazy, be_.array(indices), axis), from));
}

// Two of one form along an axis.
void RandomExpressions::join() {
  const Known x = any(), y = any();
  if (x.shape != y.shape || x.shape.rank() == 0) return binary();
  const int axis = below(size_t(x.shape.rank()));
  const int64_t middle = x.shape[axis];
  Known both{concatenate({x.lazy, y.lazy}, axis), x.shape.with(axis, 2 * middle), {}, {}, {}};
  each_index(both.shape, [&](Index index) {
    const Known& of = index[size_t(axis)] < middle ? x : y;
    index[size_t(axis)] %= middle;
    const size_t i = size_t(flat(index, x.shape));
    both.value.push_back(of.value[i]),
        both.error.push_back(of.error[i] + unit(both.lazy.dtype()) * 2 * std::fabs(of.value[i]));
    both.slope.push_back(of.slope[i]);
  });
  keep(std::move(both));
}

void RandomExpressions::cast_to() {
  const Known x = any();
  const DType dtype = type();
  if (dtype == DType::u8 || derives_) return unary();
  Known out = x;
  out.lazy = x.lazy.cast(dtype);
  for (size_t i = 0; i < out.value.size(); ++i) round_to(dtype, out.value[i], out.error[i]);
  keep(std::move(out));
}

// std::vector<double> along an axis, classes, or draws: the same as when they were drawn alone.
void RandomExpressions::source() {
  const Shape of = shape();
  if (of.rank() == 0) return unary();
  if (chance(50) && !drawn_) {
    drawn_ = true;
    drawn_at_ = be_.draw_state();
    const Tensor alone = Array(be_.uniform(of)).get();
    Known out{be_.uniform(of),
              of,
              {},
              std::vector<double>(size_t(of.elements()), 3e-7),
              std::vector<double>(size_t(of.elements()), 0)};
    for (int64_t i = 0; i < of.elements(); ++i) out.value.push_back(alone.at(i));
    return keep(std::move(out));
  }
  const int axis = below(size_t(of.rank()));
  Known out{be_.index(of, axis),
            of,
            {},
            std::vector<double>(size_t(of.elements()), 0),
            std::vector<double>(size_t(of.elements()), 0)};
  each_index(of, [&](const Index& index) { out.value.push_back(double(index[size_t(axis)])); });
  keep(std::move(out));
}

}  // namespace neon::test
