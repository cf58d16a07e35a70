// Images brought to another size.
#pragma once
#include <span>
#include <vector>

#include "backends/elementwise/kernels.h"
#include "datasets/image_size.h"
#include "datasets/resize_taps.h"

namespace neon {

// Columns of an image.
struct Columns {
  int64_t first = 0, count = 0;
};

// The middle of an image of 1 or 3 channels, as (height,width,C) of a size, once the image is just large enough to
// cover it. The longer side then has the nearest length that keeps the shape; with `stretched` both sides have the
// size. Each pixel is the mean of the pixels about its place, weighted by a triangle. The triangle reaches to the
// neighbours' places, or to one pixel of the image if that is farther. The image comes line by line, some at a time, so
// that they are used while they are in the cache.
class Resizer {
 public:
  static constexpr int kAtOnce = elementwise::kResizeLines;

  explicit Resizer(const elementwise::Level& level = elementwise::active_level()) : loops_(*level.resizing) {}
  // Prepares for an image of this size, in which a pixel stands for a square of `denominator` each way. The last square
  // may be smaller. An image like the last one needs no new plan.
  void plan(const ImageSize& size, int64_t channels, const SampleSize& to, int64_t denominator = 1,
            bool stretched = false);
  // Its columns that the middle is made of; lines may have these only, or more.
  Columns needed() const;
  void begin(const Columns& there, std::span<uint8_t> to);
  // Where the next line is to be written and, for k < kAtOnce, the k-th behind it.
  uint8_t* line(int k) { return lines_[k].data() + kUneven; }
  // Takes the lines just written: kAtOnce of them, or the rest of the image.
  void add(int count);

 private:
  // libjpeg-turbo writes lines that begin at a multiple of 16 or 32 bytes past the cache, where they are wanted.
  static constexpr int64_t kUneven = 8;
  int16_t* resized_line(int64_t y) { return resized_.data() + y % kept_ * windows_.sixteens * 16; }
  void put_line();

  const elementwise::Resizing& loops_;
  ImageSize size_;  // of the image planned
  int64_t channels_ = 0, denominator_ = 0;
  SampleSize wanted_;
  bool stretched_ = false;
  Taps down_, along_;
  LineWindows windows_;
  int64_t kept_ = 0;                     // lines that have their new width already
  std::vector<int16_t> resized_;         // (kept, values), and some behind each
  std::vector<const int16_t*> parts_;    // of a line of the result
  std::vector<uint8_t> lines_[kAtOnce];  // as they come
  int64_t offset_ = 0;                   // in them, of the first pixel needed
  int64_t y_ = 0;                        // of the next one
  size_t done_ = 0;                      // lines of the result
  uint8_t* to_ = nullptr;
};

// x (H,W,C) at once.
void resize_middle(const uint8_t* x, const ImageSize& size, int64_t channels, const SampleSize& wanted,
                   std::span<uint8_t> to, const elementwise::Level& level = elementwise::active_level(),
                   bool stretched = false);

}  // namespace neon
