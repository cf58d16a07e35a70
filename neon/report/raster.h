// A picture in memory, drawn with lines, boxes and letters, as a PNG.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "neon/core/tensor.h"

namespace neon {

struct Ink {
  uint8_t red = 0, green = 0, blue = 0;
};

class Raster {
 public:
  static constexpr int kLetterHeight = 17, kBaseline = 12;  // pixels

  Raster(int64_t width, int64_t height, Ink paper = {255, 255, 255});
  int64_t width() const { return pixels_.shape()[1]; }
  int64_t height() const { return pixels_.shape()[0]; }
  // A share of the ink over what is there, from 0 to 1. Places outside are left alone.
  void blend(int64_t x, int64_t y, Ink ink, double share);
  void fill(int64_t x, int64_t y, int64_t width, int64_t height, Ink ink, double share = 1);
  // A line of `thickness` pixels, with smooth edges.
  void line(double x0, double y0, double x1, double y1, Ink ink, double thickness = 1);
  // From the left and top corner. Letters other than printable ASCII are drawn as '?', one for each.
  void write(int64_t x, int64_t y, std::string_view text, Ink ink);
  static int64_t width_of(std::string_view text);
  void put(const Tensor& image, int64_t x, int64_t y, int64_t factor);  // (H,W,C) u8, each pixel a square

  std::string png() const;

 private:
  Tensor pixels_;  // (height, width, 3) u8
};

}  // namespace neon
