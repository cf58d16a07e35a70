#include "neon/report/pictures.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "datasets/png_image.h"
#include "neon/core/error.h"
#include "neon/train/image_sheet.h"

namespace neon {

namespace {

constexpr int64_t kColumns = 16, kGap = 1;
constexpr int64_t kMostFilters = 256, kMostPlanes = 16;  // pictures; and channels of a filter that is not in colours

// (N,H,W,C) with sides divided by `factor`, rounded up; the last squares may be smaller.
Tensor shrunk(const Tensor& x, int64_t factor) {
  const Shape& s = x.shape();
  Tensor out(DType::u8, {s[0], (s[1] + factor - 1) / factor, (s[2] + factor - 1) / factor, s[3]});
  const auto from = x.as<uint8_t>();
  const auto to = out.as<uint8_t>();
  const Shape& d = out.shape();
  for (int64_t i = 0; i < out.elements(); ++i) {
    const int64_t c = i % d[3], column = i / d[3] % d[2], row = i / d[3] / d[2] % d[1], n = i / d[3] / d[2] / d[1];
    int64_t sum = 0, count = 0;
    for (int64_t y = row * factor; y < std::min((row + 1) * factor, s[1]); ++y)
      for (int64_t z = column * factor; z < std::min((column + 1) * factor, s[2]); ++z, ++count)
        sum += from[size_t(((n * s[1] + y) * s[2] + z) * s[3] + c)];
    to[size_t(i)] = uint8_t((sum + count / 2) / count);
  }
  return out;
}

bool is_empty_cell(const Tensor& cells, int64_t number) {
  const Tensor cell = cells.rows(number, 1);
  return std::ranges::all_of(cell.as<uint8_t>(), [](uint8_t value) { return value == kSheetGrey; });
}

}  // namespace

PictureSheet picture_sheet(const Tensor& pictures, int64_t side) {
  const int64_t longest = std::max(pictures.shape()[1], pictures.shape()[2]), factor = (longest + side - 1) / side;
  const Tensor x = factor > 1 ? shrunk(pictures, factor) : pictures;
  const Shape& s = x.shape();
  PictureSheet out;
  out.count = s[0], out.height = s[1], out.width = s[2], out.gap = kGap;
  out.columns = std::min(out.count, kColumns);
  const int64_t rows = (out.count + out.columns - 1) / out.columns, line = out.width * s[3];
  Tensor sheet(DType::u8, {rows * (out.height + kGap) + kGap, out.columns * (out.width + kGap) + kGap, s[3]});
  const auto from = x.as<uint8_t>();
  const auto to = sheet.as<uint8_t>();
  std::ranges::fill(to, kSheetGrey);
  for (int64_t n = 0; n < out.count; ++n)
    for (int64_t y = 0; y < out.height; ++y) {
      const int64_t top = n / out.columns * (out.height + kGap) + kGap + y,
                    left = n % out.columns * (out.width + kGap) + kGap;
      std::memcpy(&to[size_t((top * sheet.shape()[1] + left) * s[3])], &from[size_t((n * out.height + y) * line)],
                  size_t(line));
    }
  out.png = png_bytes(sheet);
  return out;
}

Tensor cells_of_sheet(std::string_view png, int64_t height, int64_t width, int64_t most, const std::string& path) {
  const Tensor sheet = read_png(png, 3, path);
  const int64_t down = height + kSheetGap, along = width + kSheetGap;
  const int64_t rows = (sheet.shape()[0] - kSheetGap) / down, columns = (sheet.shape()[1] - kSheetGap) / along;
  if (rows < 1 || columns < 1 || rows * down + kSheetGap != sheet.shape()[0] ||
      columns * along + kSheetGap != sheet.shape()[1])
    fail(ErrorKind::data, path, ": no sheet of images of ", height, " x ", width, " pixels");
  int64_t count = std::min(rows * columns, most);
  Tensor out(DType::u8, {count, height, width, 3});
  const auto from = sheet.as<uint8_t>();
  const auto to = out.as<uint8_t>();
  for (int64_t n = 0; n < count; ++n)
    for (int64_t y = 0; y < height; ++y) {
      const int64_t top = n / columns * down + kSheetGap + y, left = n % columns * along + kSheetGap;
      std::memcpy(&to[size_t((n * height + y) * width * 3)], &from[size_t((top * sheet.shape()[1] + left) * 3)],
                  size_t(width * 3));
    }
  while (count > 1 && is_empty_cell(out, count - 1)) --count;
  return out.rows(0, count);
}

Tensor filter_pictures(const Tensor& w) {
  const Shape& s = w.shape();
  const int64_t pixels = s[1] * s[2], channels = s[3];
  const bool colours = channels == 3;
  const int64_t planes = colours ? 1 : std::min(channels, kMostPlanes), shown = colours ? 3 : 1;
  const int64_t filters = std::min(s[0], kMostFilters / planes);
  Tensor out(DType::u8, {filters * planes, s[1], s[2], shown});
  const auto to = out.as<uint8_t>();
  for (int64_t k = 0; k < filters; ++k) {
    double largest = 0;
    for (int64_t i = 0; i < pixels * channels; ++i)
      if (const double size = std::fabs(w.at(k * pixels * channels + i)); std::isfinite(size))
        largest = std::max(largest, size);
    for (int64_t i = 0; i < planes * pixels * shown; ++i) {
      const int64_t c = colours ? i % 3 : i / pixels, pixel = colours ? i / 3 : i % pixels;
      const double value = w.at((k * pixels + pixel) * channels + c) / (largest > 0 ? largest : 1);
      to[size_t(k * planes * pixels * shown + i)] =
          std::isnan(value) ? kSheetGrey : uint8_t(std::lround(127.5 + 127.5 * std::clamp(value, -1.0, 1.0)));
    }
  }
  return out;
}

}  // namespace neon
