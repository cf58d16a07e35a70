#include "neon/train/image_sheet.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "datasets/file.h"
#include "datasets/gzip.h"
#include "datasets/png_image.h"
#include "neon/train/atomic_file.h"

namespace neon {

namespace {

constexpr int64_t kInRow = 8;

// x (N,H,W,C) of numbers low .. high as rows of images on grey.
Tensor sheet_of(const Tensor& x, double low, double high) {
  const Shape& shape = x.shape();
  const int64_t n = shape[0], height = shape[1], width = shape[2], channels = shape[3];
  const int64_t columns = std::min(n, std::max(kInRow, int64_t(std::ceil(std::sqrt(n))))),
                rows = (n + columns - 1) / columns;
  Tensor out(DType::u8, {rows * (height + kSheetGap) + kSheetGap, columns * (width + kSheetGap) + kSheetGap, channels});
  const auto pixels = out.as<uint8_t>();
  std::ranges::fill(pixels, kSheetGrey);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < height * width * channels; ++k) {
      const int64_t c = k % channels, column = k / channels % width, row = k / channels / width;
      const int64_t y = i / columns * (height + kSheetGap) + kSheetGap + row,
                    left = i % columns * (width + kSheetGap) + kSheetGap + column;
      const double value = 255 * (x.at(i * height * width * channels + k) - low) / (high - low);
      pixels[size_t((y * out.shape()[1] + left) * channels + c)] = uint8_t(std::lround(std::clamp(value, 0.0, 255.0)));
    }
  return out;
}

// A chunk of text says that the image is a preview, so that another one may replace it.
constexpr std::string_view kMark("Software\0neon data preview", 26);
constexpr size_t kEndBytes = 12;  // of the chunk IEND

std::string big_endian(uint32_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += char(number >> shift & 255);
  return out;
}

void add_mark(const std::string& path) {
  const std::string content = with_preview_mark(read_file(path, int64_t(1) << 36));
  std::ofstream file(path, std::ios::binary);
  if (!file.write(content.data(), std::streamsize(content.size())).flush())
    fail(ErrorKind::failed, path, ": cannot be written");
}

}  // namespace

std::string with_preview_mark(std::string png) {
  const std::string chunk = "tEXt" + std::string(kMark);
  png.insert(png.size() - kEndBytes, big_endian(uint32_t(kMark.size())) + chunk + big_endian(crc32_of(chunk)));
  return png;
}

void check_preview_place(const std::string& path) {
  if (!file_exists(path)) return;
  const FileSource file(path);
  std::string end(size_t(std::min<int64_t>(file.size(), kEndBytes + kMark.size() + 4)), '\0');
  file.read_at(file.size() - int64_t(end.size()), end.data(), end.size());
  if (!end.starts_with(kMark))
    fail(ErrorKind::data, path, " exists and is no preview; give another name, remove it, or give --overwrite");
}

SheetRange range_of_bytes(const SampleMeaning& meaning) {
  return {meaning.shift, 255.0 * meaning.scale + meaning.shift};
}

SheetRange range_of(const Tensor& x) {
  SheetRange out{x.at(0), x.at(0)};
  for (int64_t i = 0; i < x.elements(); ++i) out = {std::min(out.low, x.at(i)), std::max(out.high, x.at(i))};
  if (out.low == out.high) out.high = out.low + 1;
  return out;
}

void write_sheet(const Tensor& x, const SheetRange& range, const std::string& path) {
  make_folder_of(path);
  write_png(sheet_of(x, range.low, range.high), path);
  add_mark(path);
}

}  // namespace neon
