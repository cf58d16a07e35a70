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

// sums += weighted lines of n bytes, `stride` apart.
template <int Lines>
void add_lines(const uint8_t* __restrict from, int64_t stride, const float* weights, int64_t n,
               float* __restrict sums) {
  for (int64_t j = 0; j < n; ++j) {
    float sum = sums[j];
    for (int k = 0; k < Lines; ++k) sum += weights[k] * float(from[k * stride + j]);
    sums[j] = sum;
  }
}

void sum_lines(const uint8_t* from, int64_t stride, const float* weights, int64_t count, int64_t n, float* sums) {
  std::fill_n(sums, n, 0.0f);
  for (; count >= 4; count -= 4, from += 4 * stride, weights += 4) add_lines<4>(from, stride, weights, n, sums);
  if (count == 3) add_lines<3>(from, stride, weights, n, sums);
  if (count == 2) add_lines<2>(from, stride, weights, n, sums);
  if (count == 1) add_lines<1>(from, stride, weights, n, sums);
}

using Four = __m128;
Four four_at(const float* from) {
  Four out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Of means of bytes, which are bytes once they are rounded: those four in one word.
uint32_t rounded(Four x) {
  const __m128i words = _mm_packs_epi32(_mm_cvttps_epi32(x + 0.5f), _mm_setzero_si128());
  return uint32_t(_mm_cvtsi128_si32(_mm_packus_epi16(words, words)));
}

// A line of pixels of C channels from one of floats, behind which four more may be read. Weights are there four times.
// A pixel is written as four bytes where the line has as many left; those after it take what is too many.
template <int C>
void across(const Taps& taps, const std::vector<float>& weights, const float* line, uint8_t* to) {
  const float* weight = weights.data();
  const size_t places = taps.first.size();
  for (size_t i = 0; i < places; ++i, weight += 4 * taps.count, to += C) {
    const float* from = line + taps.first[i] * C;
    Four sum{};
    for (int64_t k = 0; k < taps.count; ++k) sum += four_at(weight + 4 * k) * four_at(from + k * C);
    const uint32_t bytes = rounded(sum);
    std::memcpy(to, &bytes, (places - i) * C >= sizeof bytes ? sizeof bytes : C);
  }
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
  std::vector<float> weights;
  for (const float weight : along.weights) weights.insert(weights.end(), 4, weight);
  std::vector<float> sums(size_t(line) + 4);
  for (size_t i = 0; i < down.first.size(); ++i) {
    sum_lines(x + down.first[i] * line + first, line, &down.weights[i * size_t(down.count)], down.count, last - first,
              sums.data() + first);
    channels == 3 ? across<3>(along, weights, sums.data(), to) : across<1>(along, weights, sums.data(), to);
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
