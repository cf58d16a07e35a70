#include "datasets/resize.h"

#include <emmintrin.h>  // of every x86-64

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

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

// The loops below are compiled for processors with AVX2, too. Without FMA, so that all give the same bytes.
#define NEON_FOR_WIDER_PROCESSORS [[gnu::target_clones("avx2", "default")]]

// sums = (or +=) weighted lines of n bytes, `stride` apart.
template <int Lines, bool First>
[[gnu::always_inline]] inline void add_lines(const uint8_t* __restrict from, int64_t stride, const float* weights,
                                             int64_t n, float* __restrict sums) {
  for (int64_t j = 0; j < n; ++j) {
    float sum = First ? 0 : sums[j];
    for (int k = 0; k < Lines; ++k) sum += weights[k] * float(from[k * stride + j]);
    sums[j] = sum;
  }
}

template <bool First>
[[gnu::always_inline]] inline void add_last_lines(const uint8_t* from, int64_t stride, const float* weights,
                                                  int64_t count, int64_t n, float* sums) {
  if (count == 4) add_lines<4, First>(from, stride, weights, n, sums);
  if (count == 3) add_lines<3, First>(from, stride, weights, n, sums);
  if (count == 2) add_lines<2, First>(from, stride, weights, n, sums);
  if (count == 1) add_lines<1, First>(from, stride, weights, n, sums);
}

NEON_FOR_WIDER_PROCESSORS void sum_lines(const uint8_t* from, int64_t stride, const float* weights, int64_t count,
                                         int64_t n, float* sums) {
  if (count <= 4) return add_last_lines<true>(from, stride, weights, count, n, sums);
  add_lines<4, true>(from, stride, weights, n, sums);
  for (count -= 4; count > 0; count -= 4) {
    from += 4 * stride, weights += 4;
    add_last_lines<false>(from, stride, weights, std::min<int64_t>(count, 4), n, sums);
  }
}

using Eight [[gnu::vector_size(32)]] = float;

[[gnu::always_inline]] inline __m128 four_at(const float* from) {
  __m128 out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Where the pixel of C channels is written that has so many bytes left in its line: as four bytes if it has as many,
// and those after it take what is too many.
template <int C>
[[gnu::always_inline]] inline void put_pixel(uint8_t* to, uint32_t bytes, int64_t left) {
  std::memcpy(to, &bytes, left >= 4 ? 4 : C);
}

// A line of pixels of C channels from one of floats, behind which four more may be read: two pixels at a time, of which
// `weights` has each of `count` weights of the first four times, then that of the second. Means of bytes are bytes once
// they are rounded.
template <int C>
[[gnu::always_inline]] inline void add_along(const int64_t* first, int64_t places, int64_t count, const float* weights,
                                             const float* line, uint8_t* to) {
  for (int64_t i = 0; i < places; i += 2, weights += 8 * count, to += 2 * C) {
    const bool one = i + 1 == places;
    const float *a = line + first[i] * C, *b = line + first[one ? i : i + 1] * C;
    Eight sum{};
    for (int64_t k = 0; k < count; ++k) {
      Eight weight;
      std::memcpy(&weight, weights + 8 * k, sizeof weight);
      sum += weight * __builtin_shufflevector(four_at(a + k * C), four_at(b + k * C), 0, 1, 2, 3, 4, 5, 6, 7);
    }
    sum += 0.5f;
    const __m128i left = _mm_cvttps_epi32(__builtin_shufflevector(sum, sum, 0, 1, 2, 3)),
                  right = _mm_cvttps_epi32(__builtin_shufflevector(sum, sum, 4, 5, 6, 7)),
                  words = _mm_packs_epi32(left, right);
    const auto bytes = uint64_t(_mm_cvtsi128_si64(_mm_packus_epi16(words, words)));
    put_pixel<C>(to, uint32_t(bytes), (places - i) * C);
    if (!one) put_pixel<C>(to + C, uint32_t(bytes >> 32), (places - i - 1) * C);
  }
}

// The counts of scales below 1.5 and 2, which a decoder leaves, as constants.
template <int C>
[[gnu::always_inline]] inline void add_along_some(const int64_t* first, int64_t places, int64_t count,
                                                  const float* weights, const float* line, uint8_t* to) {
  if (count == 3) add_along<C>(first, places, 3, weights, line, to);
  else if (count == 4) add_along<C>(first, places, 4, weights, line, to);
  else add_along<C>(first, places, count, weights, line, to);
}

NEON_FOR_WIDER_PROCESSORS void across(const Taps& taps, const std::vector<float>& weights, const float* line,
                                      int64_t channels, uint8_t* to) {
  const int64_t *first = taps.first.data(), places = int64_t(taps.first.size());
  if (channels == 3) add_along_some<3>(first, places, taps.count, weights.data(), line, to);
  else add_along_some<1>(first, places, taps.count, weights.data(), line, to);
}

// As across() wants them.
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
  std::vector<float> sums(size_t(line) + 4);
  for (size_t i = 0; i < down.first.size(); ++i) {
    sum_lines(x + down.first[i] * line + first, line, &down.weights[i * size_t(down.count)], down.count, last - first,
              sums.data() + first);
    across(along, weights, sums.data(), channels, to);
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
