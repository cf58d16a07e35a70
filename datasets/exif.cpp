#include "datasets/exif.h"

#include <algorithm>

namespace neon {

namespace {

constexpr std::string_view kExif("Exif\0\0", 6);
constexpr uint32_t kOrientation = 0x0112, kShort = 3;
constexpr size_t kEntryBytes = 12;

// A TIFF structure, whose numbers begin with their low or their high byte; 0 behind its end.
struct Tiff {
  std::string_view bytes;
  uint32_t number(size_t at, size_t size) const {
    if (at > bytes.size() || bytes.size() - at < size) return 0;
    const bool low_first = bytes.starts_with("II");
    uint32_t out = 0;
    for (size_t i = 0; i < size; ++i) out = out << 8 | uint8_t(bytes[low_first ? at + size - 1 - i : at + i]);
    return out;
  }
};

int orientation_in(const Tiff& tiff) {
  if (!tiff.bytes.starts_with("II") && !tiff.bytes.starts_with("MM")) return 1;
  const size_t directory = tiff.number(4, 4), entries = tiff.number(directory, 2);
  for (size_t k = 0; k < entries; ++k) {
    const size_t entry = directory + 2 + k * kEntryBytes;
    if (tiff.number(entry, 2) != kOrientation || tiff.number(entry + 2, 2) != kShort) continue;
    const uint32_t value = tiff.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

bool swaps_axes(int orientation) { return orientation >= 5; }

int orientation_of_segment(std::string_view segment) {
  if (segment.starts_with(kExif)) segment.remove_prefix(kExif.size());
  return orientation_in({segment});
}

int jpeg_orientation(std::string_view jpeg) {
  constexpr uint8_t kMark = 0xff, kApp1 = 0xe1, kScan = 0xda;
  const auto byte = [&](size_t at) { return at < jpeg.size() ? uint8_t(jpeg[at]) : uint8_t(0); };
  for (size_t at = 2; byte(at) == kMark;) {
    while (byte(at + 1) == kMark) ++at;  // a mark may have several of these before it
    const uint8_t kind = byte(at + 1);
    const size_t length = size_t(byte(at + 2)) << 8 | byte(at + 3);
    if (kind == kScan || length < 2 || at + 2 + length > jpeg.size()) return 1;
    const std::string_view segment = jpeg.substr(at + 4, length - 2);
    if (kind == kApp1 && segment.starts_with(kExif)) return orientation_of_segment(segment);
    at += 2 + length;
  }
  return 1;
}

// A number of four bytes at a place; behind the end the largest.
uint32_t length_at(std::string_view bytes, size_t at, bool low_first) {
  if (at > bytes.size() || bytes.size() - at < 4) return ~uint32_t(0);
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | uint8_t(bytes[low_first ? at + 3 - i : at + i]);
  return out;
}

// Chunks of WebP: a name, a length, and as many bytes, padded to an even number.
int webp_orientation(std::string_view webp) {
  for (size_t at = 12; at + 8 <= webp.size();) {
    const size_t length = length_at(webp, at + 4, true);
    if (length > webp.size() - at - 8) return 1;
    if (webp.substr(at, 4) == "EXIF") return orientation_of_segment(webp.substr(at + 8, length));
    at += 8 + length + length % 2;
  }
  return 1;
}

// Chunks of PNG: a length, a name, as many bytes, and their checksum.
int png_orientation(std::string_view png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    const size_t length = length_at(png, at, false);
    if (length > png.size() - at - 12) return 1;
    if (png.substr(at + 4, 4) == "eXIf") return orientation_of_segment(png.substr(at + 8, length));
    at += 12 + length;
  }
  return 1;
}

}  // namespace

int exif_orientation(std::string_view image) {
  if (image.starts_with("\xff\xd8")) return jpeg_orientation(image);
  if (image.starts_with("RIFF") && image.size() >= 12 && image.substr(8, 4) == "WEBP") return webp_orientation(image);
  if (image.starts_with("\x89PNG\r\n\x1a\n")) return png_orientation(image);
  return 1;
}

Tensor upright(const Tensor& stored, int orientation) {
  if (orientation == 1) return stored;
  const ImageSize size{stored.shape()[0], stored.shape()[1]}, turned = upright_size(size, orientation);
  Tensor out(DType::u8, {turned.height, turned.width, stored.shape()[2]});
  set_upright(stored.as<uint8_t>(), size, stored.shape()[2], orientation, out.as<uint8_t>());
  return out;
}

ImageSize upright_size(const ImageSize& stored, int orientation) {
  if (!swaps_axes(orientation)) return stored;
  return {stored.width, stored.height};
}

namespace {

constexpr int64_t kTile = 32;  // pixels along a side: as many rows of both images stay in the fastest cache

// Sets the pixels of an image from those that begin at `from`, `right` and `down` bytes apart. Numbers by value: the
// compiler would read those of a reference again after each byte that is set.
template <int kChannels>
void set_pixels(const uint8_t* from, int64_t right, int64_t down, int64_t height, int64_t width, uint8_t* to) {
  for (int64_t top = 0; top < height; top += kTile)
    for (int64_t left = 0; left < width; left += kTile)
      for (int64_t y = top; y < std::min(top + kTile, height); ++y) {
        const uint8_t* pixel = from + y * down + left * right;
        uint8_t *at = to + (y * width + left) * kChannels, *const ends = at + std::min(kTile, width - left) * kChannels;
        // g++ calls memmove for std::copy_n, which takes ten times as long.
        for (; at < ends; at += kChannels, pixel += right)
          for (int c = 0; c < kChannels; ++c) at[c] = pixel[c];
      }
}

}  // namespace

// Stored row r lies at the top (1, 2), bottom (3, 4), left (5, 8) or right (6, 7), counted from that side; stored
// columns from the left (1, 4), right (2, 3), top (5, 6) or bottom (7, 8).
void set_upright(std::span<const uint8_t> stored, const ImageSize& size, int64_t channels, int orientation,
                 std::span<uint8_t> upright) {
  const ImageSize out = upright_size(size, orientation);
  if (out.height == 0 || out.width == 0) return;
  const bool rows_back = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool columns_back = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const int64_t row = size.width * channels, next_row = rows_back ? -row : row,
                next_column = columns_back ? -channels : channels;
  const uint8_t* const from =
      stored.data() + (rows_back ? (size.height - 1) * row : 0) + (columns_back ? row - channels : 0);
  const int64_t right = swaps_axes(orientation) ? next_row : next_column,
                down = swaps_axes(orientation) ? next_column : next_row;
  switch (channels) {
    case 1: return set_pixels<1>(from, right, down, out.height, out.width, upright.data());
    case 3: return set_pixels<3>(from, right, down, out.height, out.width, upright.data());
    case 4: return set_pixels<4>(from, right, down, out.height, out.width, upright.data());
    default: NEON_ASSERT(false);
  }
}

}  // namespace neon
