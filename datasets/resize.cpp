#include "datasets/resize.h"

#include <algorithm>
#include <cmath>

#include "neon/core/error.h"

namespace neon {

void Resizer::plan(const ImageSize& size, int64_t channels, const SampleSize& to, int64_t denominator, bool stretched) {
  NEON_ASSERT(channels == 1 || channels == 3);
  if (size == size_ && channels == channels_ && to == wanted_ && denominator == denominator_ && stretched == stretched_)
    return;
  size_ = {};  // until all is there
  // The axis that has to grow most, or to shrink least, gets its size.
  const bool by_width = to.width * size.height > to.height * size.width;
  const double wanted = double(by_width ? to.width : to.height), own = double(by_width ? size.width : size.height);
  const auto taps = [&](int64_t length, int64_t places) {
    const int64_t scaled = stretched ? places : std::llround(double(length) * wanted / own);
    return taps_of_middle(length, std::max(places, scaled), places, denominator);
  };
  down_ = taps(size.height, to.height);
  along_ = taps(size.width, to.width);
  windows_ = windows_of(along_, channels);
  kept_ = down_.count + kAtOnce - 1;
  resized_.resize(size_t(kept_ * windows_.sixteens * 16));
  parts_.resize(size_t(down_.count));
  size_ = size, channels_ = channels, wanted_ = to, denominator_ = denominator, stretched_ = stretched;
}

Columns Resizer::needed() const {
  return {along_.first.front(), along_.first.back() + along_.count - along_.first.front()};
}

void Resizer::begin(const Columns& there, std::span<uint8_t> to) {
  offset_ = (along_.first.front() - there.first) * channels_;
  NEON_ASSERT(offset_ >= 0 && needed().first + needed().count <= there.first + there.count);
  NEON_ASSERT(int64_t(to.size()) == wanted_.height * wanted_.width * channels_);
  for (std::vector<uint8_t>& line : lines_)
    line.resize(size_t(kUneven + std::max(offset_ + windows_.reach, there.count * channels_)));
  y_ = 0, done_ = 0, to_ = to.data();
}

void Resizer::add(int count) {
  if (y_ + count > down_.first.front() && done_ < down_.first.size()) {
    const uint8_t* from[kAtOnce];
    int16_t* to[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) {
      const int line = std::min(k, count - 1);  // where there are fewer the last one more than once
      from[k] = this->line(line) + offset_, to[k] = resized_line(y_ + line);
    }
    loops_.along(windows_.windows.data(), windows_.sixteens, from, to);
  }
  y_ += count;
  while (done_ < down_.first.size() && down_.first[done_] + down_.count <= y_) put_line();
}

void Resizer::put_line() {
  for (size_t k = 0; k < parts_.size(); ++k) parts_[k] = resized_line(down_.first[done_] + int64_t(k));
  const int64_t values = wanted_.width * channels_;
  loops_.sum_lines(parts_.data(), &down_.weights[done_ * parts_.size()], down_.count, values, to_);
  to_ += values;
  ++done_;
}

void resize_middle(const uint8_t* x, const ImageSize& size, int64_t channels, const SampleSize& wanted,
                   std::span<uint8_t> to, const elementwise::Level& level, bool stretched) {
  Resizer resizer(level);
  resizer.plan(size, channels, wanted, 1, stretched);
  resizer.begin({0, size.width}, to);
  const int64_t bytes = size.width * channels;
  for (int64_t y = 0; y < size.height; y += Resizer::kAtOnce) {
    const int count = int(std::min<int64_t>(Resizer::kAtOnce, size.height - y));
    for (int k = 0; k < count; ++k) std::copy_n(x + (y + k) * bytes, bytes, resizer.line(k));
    resizer.add(count);
  }
}

}  // namespace neon
