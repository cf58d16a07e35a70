#include "neon/train/torch_layout.h"

#include <cstring>

namespace neon {

namespace {

// Copies `count` arrays (rows, columns) one after the other as (columns, rows).
Tensor transposed(const Tensor& from, Shape shape, int64_t count, int64_t rows, int64_t columns) {
  Tensor out(from.dtype(), shape);
  const size_t size = size_of(from.dtype());
  const auto* const read = static_cast<const std::byte*>(from.data());
  auto* const write = static_cast<std::byte*>(out.data());
  for (int64_t n = 0; n < count; ++n)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(write + size_t((n * columns + c) * rows + r) * size,
                    read + size_t((n * rows + r) * columns + c) * size, size);
  return out;
}

}  // namespace

bool are_filters(const Parameter& p) { return p.layer_class == "Convolution" || p.layer_class == "Deconvolution"; }

Shape torch_shape(const Parameter& p) {
  const Shape shape = p.whole_shape();
  if (!are_filters(p)) return shape;
  return Shape{shape[0], shape.back()}.concat(shape.slice(1, shape.rank() - 1));
}

Tensor with_filter_channels_last(const Tensor& filters) {
  const Shape& shape = filters.shape();
  const Shape places = shape.slice(2, shape.rank());
  return transposed(filters, Shape{shape[0]}.concat(places).concat({shape[1]}), shape[0], shape[1], places.elements());
}

Tensor with_columns_channels_last(const Tensor& weights, const Shape& images) {
  const int64_t channels = images.back();
  return transposed(weights, weights.shape(), weights.shape()[0], channels, images.elements() / channels);
}

}  // namespace neon
