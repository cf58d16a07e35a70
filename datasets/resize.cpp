#include "datasets/resize.h"

#include <algorithm>

#include "neon/core/error.h"

namespace neon {

Resizer::Resizer(const ImageSize& size, int64_t channels, int64_t side, std::span<uint8_t> to,
                 const elementwise::Level& level)
    : loops_(*level.resizing),
      channels_(channels),
      values_(side * channels),
      down_(taps_of_middle(size.height, std::min(size.height, size.width), side)),
      along_(taps_of_middle(size.width, std::min(size.height, size.width), side)),
      windows_(windows_of(along_, channels)),
      kept_(down_.count + 1),
      resized_(size_t(kept_ * windows_.sixteens * 16)),
      parts_(size_t(down_.count)),
      to_(to.data()) {
  NEON_ASSERT((channels == 1 || channels == 3) && int64_t(to.size()) == side * values_);
}

Columns Resizer::needed() const {
  return {along_.first.front(), along_.first.back() + along_.count - along_.first.front()};
}

void Resizer::begin(const Columns& there) {
  offset_ = (along_.first.front() - there.first) * channels_;
  NEON_ASSERT(offset_ >= 0 && needed().first + needed().count <= there.first + there.count);
  for (std::vector<uint8_t>& line : lines_)
    line.resize(size_t(std::max(offset_ + windows_.reach, there.count * channels_)));
}

void Resizer::add(int count) {
  if (y_ + count > down_.first.front() && done_ < down_.first.size()) {
    const uint8_t* const from[] = {lines_[0].data() + offset_, lines_[count - 1].data() + offset_};
    int16_t* const to[] = {resized_line(y_), resized_line(y_ + count - 1)};
    loops_.along(windows_.windows.data(), windows_.sixteens, from, to);
  }
  y_ += count;
  while (done_ < down_.first.size() && down_.first[done_] + down_.count <= y_) put_line();
}

void Resizer::put_line() {
  for (size_t k = 0; k < parts_.size(); ++k) parts_[k] = resized_line(down_.first[done_] + int64_t(k));
  loops_.sum_lines(parts_.data(), &down_.weights[done_ * parts_.size()], down_.count, values_, to_);
  to_ += values_;
  ++done_;
}

void resize_middle(const uint8_t* x, const ImageSize& size, int64_t channels, int64_t side, std::span<uint8_t> to,
                   const elementwise::Level& level) {
  Resizer resizer(size, channels, side, to, level);
  resizer.begin({0, size.width});
  const int64_t bytes = size.width * channels;
  for (int64_t y = 0; y < size.height; y += 2) {
    const int count = int(std::min<int64_t>(2, size.height - y));
    for (int k = 0; k < count; ++k) std::copy_n(x + (y + k) * bytes, bytes, resizer.line(k));
    resizer.add(count);
  }
}

}  // namespace neon
