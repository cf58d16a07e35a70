#include "image_files.h"

namespace neon_test {

std::string low_bytes(uint64_t number, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += char(number >> (8 * i));
  return out;
}

std::string bmp_of(int width, int height, int bits, uint32_t storage, const std::string& after_header,
                   const std::string& pixels, int colours) {
  const size_t start = 14 + 40 + after_header.size();
  return "BM" + low_bytes(start + pixels.size(), 4) + low_bytes(0, 4) + low_bytes(start, 4) + low_bytes(40, 4) +
         low_bytes(uint32_t(width), 4) + low_bytes(uint32_t(height), 4) + low_bytes(1, 2) +
         low_bytes(uint64_t(bits), 2) + low_bytes(storage, 4) + low_bytes(pixels.size(), 4) + low_bytes(0, 8) +
         low_bytes(uint64_t(colours), 4) + low_bytes(0, 4) + after_header + pixels;
}

std::string bmp_palette(const Palette& palette) {
  std::string out;
  for (const auto& [red, green, blue] : palette) out += {char(blue), char(green), char(red), 0};
  return out;
}

std::string bmp_of(const neon::Tensor& image) {
  const int64_t height = image.shape()[0], width = image.shape()[1];
  std::string pixels;
  for (int64_t y = height - 1; y >= 0; --y) {
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 2; c >= 0; --c) pixels += char(image.at((y * width + x) * 3 + c));
    pixels.resize((pixels.size() + 3) / 4 * 4);
  }
  return bmp_of(int(width), int(height), 24, 0, "", pixels);
}

namespace {

// Codes of 9 bits, the lowest bit first, in blocks of at most 255 bytes.
std::string gif_codes(const std::vector<uint8_t>& indices) {
  constexpr unsigned kClear = 256, kEnd = 257;
  std::string bytes;
  unsigned held = 0;
  int bits = 0;
  const auto put = [&](unsigned code) {
    held |= code << bits;
    for (bits += 9; bits >= 8; bits -= 8, held >>= 8) bytes += char(held);
  };
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i % 200 == 0) put(kClear);
    put(indices[i]);
  }
  put(kEnd);
  if (bits > 0) bytes += char(held);
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 255) {
    const std::string block = bytes.substr(at, 255);
    out += char(block.size());
    out += block;
  }
  return out + '\0';
}

}  // namespace

std::string gif_of(const std::vector<uint8_t>& indices, int width, int height, const Palette& palette, GifPlace place) {
  std::string out = "GIF89a" + low_bytes(uint64_t(place.width), 2) + low_bytes(uint64_t(place.height), 2);
  out += {char(0xf7), 0, 0};  // 256 colours
  for (size_t k = 0; k < 256; ++k)
    for (size_t c = 0; c < 3; ++c) out += k < palette.size() ? char(palette[k][c]) : '\0';
  if (place.transparent >= 0) out += std::string("\x21\xf9\x04\x01\0\0", 6) + char(place.transparent) + '\0';
  out += "," + low_bytes(uint64_t(place.left), 2) + low_bytes(uint64_t(place.top), 2) + low_bytes(uint64_t(width), 2) +
         low_bytes(uint64_t(height), 2) + (place.interlaced ? '\x40' : '\0') + '\x08';
  std::vector<uint8_t> stored;
  const auto add_row = [&](int y) {
    stored.insert(stored.end(), indices.begin() + y * width, indices.begin() + (y + 1) * width);
  };
  if (place.interlaced) {
    for (int y = 0; y < height; y += 8) add_row(y);
    for (int y = 4; y < height; y += 8) add_row(y);
    for (int y = 2; y < height; y += 4) add_row(y);
    for (int y = 1; y < height; y += 2) add_row(y);
  } else {
    stored = indices;
  }
  return out + gif_codes(stored) + ";";
}

std::string tiff_of(const neon::Tensor& image, int orientation) {
  const auto height = uint64_t(image.shape()[0]), width = uint64_t(image.shape()[1]);
  const auto channels = uint64_t(image.shape()[2]);
  const std::string pixels(static_cast<const char*>(image.data()), image.bytes());
  const size_t bits_at = 8 + pixels.size(), directory = bits_at + 8;
  std::vector<std::array<uint64_t, 4>> fields = {// tag, type, count, value
                                                 {256, 4, 1, width},
                                                 {257, 4, 1, height},
                                                 {258, 3, channels,
                                                  channels == 1   ? 8
                                                  : channels == 2 ? 0x80008
                                                                  : bits_at},
                                                 {259, 3, 1, 1},
                                                 {262, 3, 1, channels < 3 ? 1u : 2u},
                                                 {273, 4, 1, 8},
                                                 {274, 3, 1, uint64_t(orientation)},
                                                 {277, 3, 1, channels},
                                                 {278, 4, 1, height},
                                                 {279, 4, 1, pixels.size()}};
  if (channels % 2 == 0) fields.push_back({338, 3, 1, 2});  // opacity that the colours are not multiplied with
  std::string out = "II*" + std::string(1, '\0') + low_bytes(directory, 4) + pixels + low_bytes(0x8000800080008, 8) +
                    low_bytes(fields.size(), 2);
  for (const auto& [tag, type, count, value] : fields)
    out += low_bytes(tag, 2) + low_bytes(type, 2) + low_bytes(count, 4) + low_bytes(value, 4);
  return out + low_bytes(0, 4);
}

}  // namespace neon_test
