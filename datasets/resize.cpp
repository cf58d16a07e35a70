#include "datasets/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/elementwise/kernels.h"

namespace neon {

namespace {

// What the places of a part of a resized axis are made of: the same number of neighbours each.
struct Taps {
  int64_t count = 0;
  std::vector<int64_t> first;  // by place
  std::vector<float> weights;  // (places, count); those of a place add up to 1
};

// Of `places` places of an axis that becomes `to` long, from `begin` on.
Taps taps_of(int64_t from, int64_t to, int64_t begin, int64_t places) {
  const double scale = double(from) / double(to), reach = std::max(scale, 1.0);
  Taps out;
  out.count = std::min(from, int64_t(2 * reach) + 1);
  for (int64_t i = begin; i < begin + places; ++i) {
    const double centre = (double(i) + 0.5) * scale;
    const int64_t first = std::clamp<int64_t>(int64_t(centre - reach + 0.5), 0, from - out.count);
    auto weight = [&](int64_t k) { return std::max(0.0, 1 - std::abs((double(k) + 0.5 - centre) / reach)); };
    double sum = 0;
    for (int64_t k = first; k < first + out.count; ++k) sum += weight(k);
    for (int64_t k = first; k < first + out.count; ++k) out.weights.push_back(float(weight(k) / sum));
    out.first.push_back(first);
  }
  return out;
}

// As Resizing::across wants them.
std::vector<float> in_pairs(const Taps& taps) {
  std::vector<float> out;
  const size_t places = taps.first.size(), count = size_t(taps.count);
  for (size_t i = 0; i < places; i += 2)
    for (size_t k = 0; k < count; ++k)
      for (size_t place : {i, std::min(i + 1, places - 1)}) out.insert(out.end(), 4, taps.weights[place * count + k]);
  return out;
}

// The part of x, resized to (height,width), from (top,left) on, as (rows,columns).
struct Part {
  int64_t height, width, top, left, rows, columns;
};

// Of an image whose shorter side becomes `side` long.
Part middle_of(const ImageSize& size, int64_t side) {
  const int64_t shorter = std::min(size.height, size.width);
  auto scaled = [&](int64_t length) {
    return std::max(side, int64_t(std::llround(double(length) * double(side) / double(shorter))));
  };
  const int64_t height = scaled(size.height), width = scaled(size.width);
  return {height, width, (height - side) / 2, (width - side) / 2, side, side};
}

// Lines first, which are sums of whole lines of x, then along them.
void resize_part(const uint8_t* x, const ImageSize& size, const Columns& there, int64_t channels, const Part& part,
                 uint8_t* to) {
  NEON_ASSERT(channels == 1 || channels == 3);
  const Taps down = taps_of(size.height, part.height, part.top, part.rows);
  Taps along = taps_of(size.width, part.width, part.left, part.columns);
  for (int64_t& first : along.first) first -= there.first;
  const int64_t line = there.count * channels;
  const int64_t first = along.first.front() * channels, last = (along.first.back() + along.count) * channels;
  NEON_ASSERT(first >= 0 && last <= line);
  const std::vector<float> weights = in_pairs(along);
  const elementwise::Resizing& loops = *elementwise::active_level().resizing;
  std::vector<float> sums(size_t(line) + 4);
  for (size_t i = 0; i < down.first.size(); ++i) {
    loops.sum_lines(x + down.first[i] * line + first, line, &down.weights[i * size_t(down.count)], down.count,
                    last - first, sums.data() + first);
    loops.across(along.first.data(), part.columns, along.count, weights.data(), sums.data(), channels, to);
    to += part.columns * channels;
  }
}

}  // namespace

Tensor resized(const Tensor& x, int64_t height, int64_t width) {
  const ImageSize size{x.shape()[0], x.shape()[1]};
  Tensor out(DType::u8, {height, width, x.shape()[2]});
  const Part all{height, width, 0, 0, height, width};
  resize_part(x.as<uint8_t>().data(), size, {0, size.width}, x.shape()[2], all, out.as<uint8_t>().data());
  return out;
}

Columns columns_of_middle(const ImageSize& size, int64_t side) {
  const Part middle = middle_of(size, side);
  const Taps along = taps_of(size.width, middle.width, middle.left, middle.columns);
  return {along.first.front(), along.first.back() + along.count - along.first.front()};
}

void resize_middle(const uint8_t* x, const ImageSize& size, const Columns& there, int64_t channels, int64_t side,
                   std::span<uint8_t> to) {
  NEON_ASSERT(int64_t(to.size()) == side * side * channels);
  resize_part(x, size, there, channels, middle_of(size, side), to.data());
}

}  // namespace neon
