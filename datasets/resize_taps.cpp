#include "datasets/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace neon {

namespace {

using elementwise::LineWindow;
constexpr int kWeightOne = 1 << 15;
constexpr int kFours[4] = {0, 2, 1, 3};  // where the fours of a window lie
constexpr int64_t kBytes = 16;           // of a line that a window shows to each four values

constexpr LineWindow nothing() {
  LineWindow out{};
  for (auto& part : out.places)
    for (auto& four : part) std::ranges::fill(four, uint8_t(0x80));
  return out;
}
constexpr LineWindow kNothing = nothing();

// A value of a line: the byte that its next tap takes, a step from tap to tap, and what is left of them.
struct Value {
  int64_t byte = 0, left = 0;
  const int16_t* weight = nullptr;
};

// Adds the taps of four values to the windows from `at` on, where they are the four of that number.
void place_four(std::span<Value> values, int64_t step, int four, size_t at, LineWindows& out) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  for (;; ++at) {
    int64_t first = kNone;
    for (const Value& value : values)
      if (value.left > 0) first = std::min(first, value.byte);
    if (first == kNone) return;
    if (at == out.windows.size()) out.windows.push_back(kNothing);
    LineWindow& window = out.windows[at];
    window.first[four] = int32_t(first);
    out.reach = std::max(out.reach, first + kBytes);
    for (size_t j = 0; j < values.size(); ++j) {
      Value& value = values[j];
      for (size_t k = 0; k < 4 && value.left > 0 && value.byte < first + kBytes;
           ++k, --value.left, value.byte += step) {
        window.places[k / 2][four][4 * j + k % 2 * 2] = uint8_t(value.byte - first);
        window.weights[k / 2][four][2 * j + k % 2] = *value.weight++;
      }
    }
  }
}

}  // namespace

Taps taps_of_middle(int64_t length, int64_t to, int64_t side, int64_t denominator) {
  const double scale = double(length) / double(denominator) / double(to), reach = std::max(scale, 1.0),
               slope = 1 / reach;
  const int64_t pixels = (length + denominator - 1) / denominator, count = std::min(pixels, int64_t(2 * reach) + 1);
  Taps out{count, std::vector<int64_t>(size_t(side)), std::vector<int16_t>(size_t(side * count))};
  std::vector<double> sums(static_cast<size_t>(count));  // of the first weights: rounded, they add up to the whole
  int16_t* weight = out.weights.data();
  for (int64_t i = 0; i < side; ++i) {
    const double centre = (double((to - side) / 2 + i) + 0.5) * scale;
    const int64_t first = std::clamp<int64_t>(int64_t(centre - reach + 0.5), 0, pixels - count);
    out.first[size_t(i)] = first;
    double sum = 0, place = double(first) + 0.5 - centre;
    for (double& here : sums) here = sum += std::max(0.0, 1 - std::abs(place) * slope), place += 1;
    int before = 0;
    for (const double here : sums) {
      const int rounded = int(here * (kWeightOne / sum) + 0.5);
      *weight++ = int16_t(std::min(rounded - before, kWeightOne - 1));
      before = rounded;
    }
  }
  return out;
}

LineWindows windows_of(const Taps& taps, int64_t channels) {
  std::vector<Value> values;
  values.reserve(taps.first.size() * size_t(channels));
  for (size_t i = 0; i < taps.first.size(); ++i)
    for (int64_t c = 0; c < channels; ++c)
      values.push_back(
          {(taps.first[i] - taps.first[0]) * channels + c, taps.count, &taps.weights[i * size_t(taps.count)]});
  LineWindows out;
  out.windows.reserve(values.size() / 16 + 1);
  for (size_t begin = 0; begin < values.size(); begin += 16) {
    const size_t at = out.windows.size();
    for (size_t four = 0; four < 4 && begin + 4 * four < values.size(); ++four) {
      const size_t first = begin + 4 * four;
      place_four(std::span(values).subspan(first, std::min<size_t>(4, values.size() - first)), channels, kFours[four],
                 at, out);
    }
    out.windows.back().last = true;
    ++out.sixteens;
  }
  return out;
}

}  // namespace neon
