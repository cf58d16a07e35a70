#include "datasets/exif.h"

#ifdef NEON_HAVE_WEBP
#include <webp/encode.h>
#endif

#include <catch2/catch.hpp>

#include "datasets/gzip.h"
#include "datasets/image.h"
#include "datasets/jpeg_image.h"
#include "tests/datasets/image_support.h"

using namespace neon;
using namespace neon_test;

namespace {

// Sides of the upright image on which row 0 and column 0 of the stored one lie, by the orientation (EXIF 2.3, 4.6.4).
constexpr const char* kSides[] = {"",         "top left",  "top right",    "bottom right", "bottom left",
                                  "left top", "right top", "right bottom", "left bottom"};

std::string number(uint32_t value, size_t size, bool low_first) {
  std::string out;
  for (size_t i = 0; i < size; ++i) out += char(value >> (8 * (low_first ? i : size - 1 - i)));
  return out;
}

// EXIF of two entries, of which the second is the orientation.
std::string exif_of(uint32_t orientation, bool low_first) {
  const auto n = [&](uint32_t value, size_t size) { return number(value, size, low_first); };
  return (low_first ? "II" : "MM") + n(42, 2) + n(8, 4) + n(2, 2) + n(0x010f, 2) + n(2, 2) + n(1, 4) + n(0, 4) +
         n(0x0112, 2) + n(3, 2) + n(1, 4) + n(orientation, 2) + n(0, 2) + n(0, 4);
}

// The file with EXIF in a segment.
std::string held(const std::string& jpeg, uint32_t orientation, bool low_first) {
  const std::string segment = std::string("Exif\0\0", 6) + exif_of(orientation, low_first);
  return jpeg.substr(0, 2) + "\xff\xff\xe1" + number(uint32_t(segment.size() + 2), 2, false) + segment + jpeg.substr(2);
}

// Pixels of the stored image, one by one at the place that the sides say.
Tensor placed(const Tensor& stored, const std::string& sides) {
  const int64_t height = stored.shape()[0], width = stored.shape()[1], channels = stored.shape()[2];
  const bool turned = sides.starts_with("left") || sides.starts_with("right");
  Tensor out(DType::u8, turned ? Shape{width, height, channels} : Shape{height, width, channels});
  const int64_t across = out.shape()[1], down = out.shape()[0];
  for (int64_t r = 0; r < height; ++r)
    for (int64_t c = 0; c < width; ++c) {
      int64_t x = 0, y = 0;
      const std::string row_side = sides.substr(0, sides.find(' ')), column_side = sides.substr(sides.find(' ') + 1);
      for (const auto& [side, n] : {std::pair(row_side, r), {column_side, c}}) {
        if (side == "top") y = n;
        if (side == "bottom") y = down - 1 - n;
        if (side == "left") x = n;
        if (side == "right") x = across - 1 - n;
      }
      for (int64_t k = 0; k < channels; ++k)
        out.set((y * across + x) * channels + k, stored.at((r * width + c) * channels + k));
    }
  return out;
}

bool same_pixels(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.as<uint8_t>(), b.as<uint8_t>());
}

// Pixels (H,W,3) that all differ.
Tensor numbered(int64_t height, int64_t width) {
  Tensor out(DType::u8, {height, width, 3});
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, double(7 * i % 251));
  return out;
}

}  // namespace

TEST_CASE("photos are turned upright by their EXIF orientation") {
  for (const int64_t channels : {1, 3})
    for (uint32_t orientation = 1; orientation <= 8; ++orientation)
      for (const bool low_first : {false, true}) {
        INFO(channels << " channels, orientation " << orientation);
        const std::string jpeg = jpeg_of(picture(24, 36, channels), 90);
        const std::string file = held(jpeg, orientation, low_first);
        CHECK(exif_orientation(file) == int(orientation));
        const Tensor expected = placed(read_jpeg(jpeg, int(channels), 1, "a"), kSides[orientation]);
        const ImageSize size{expected.shape()[0], expected.shape()[1]};
        CHECK(image_size(file, "a") == size);
        CHECK(same_pixels(read_image(file, {channels, 0}, "a"), expected));
        // The same as a sample of its own size, and as the square in the middle.
        Tensor sample(DType::u8, expected.shape());
        Resizer resizer;
        CHECK(read_image_to(file, {channels, 0}, "a", size, sample.as<uint8_t>(), resizer) == size);
        CHECK(same_pixels(sample, expected));
        const Tensor square = read_image(jpeg, {channels, 12}, "a");
        CHECK(same_pixels(read_image(file, {channels, 12}, "a"), placed(square, kSides[orientation])));
        const ImageSize other{5, 7};
        Tensor small(DType::u8, {5, 7, channels});
        CHECK(read_image_to(file, {channels, 0}, "a", other, small.as<uint8_t>(), resizer) == size);
      }
}

// PNG has a chunk eXIf before its pixels or behind them.
TEST_CASE("PNG images are turned upright by their EXIF orientation") {
  const std::string png = png_of(numbered(4, 3));
  const Tensor stored = read_image(png, {3, 0}, "a");
  const size_t end = png.size() - 12;  // of the pixels
  for (uint32_t orientation = 1; orientation <= 8; ++orientation)
    for (const size_t place : {size_t(33), end}) {
      INFO("orientation " << orientation << ", chunk at " << place);
      const std::string exif = exif_of(orientation, place == end);
      const std::string chunk = number(uint32_t(exif.size()), 4, false) + "eXIf" + exif;
      const std::string file =
          png.substr(0, place) + chunk + number(crc32_of(chunk.substr(4)), 4, false) + png.substr(place);
      CHECK(exif_orientation(file) == int(orientation));
      CHECK(same_pixels(read_image(file, {3, 0}, "a"), placed(stored, kSides[orientation])));
      for (size_t length = 0; length < file.size(); length += 3)
        CHECK_NOTHROW(exif_orientation(file.substr(0, length)));
    }
}

#ifdef NEON_HAVE_WEBP
TEST_CASE("WebP images are turned upright by their EXIF orientation") {
  const Tensor stored = numbered(4, 3);
  uint8_t* bytes = nullptr;
  const size_t size = WebPEncodeLosslessRGB(stored.as<uint8_t>().data(), 3, 4, 9, &bytes);
  const std::string simple(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  const auto chunk = [](const std::string& name, const std::string& content) {
    return name + number(uint32_t(content.size()), 4, true) + content + std::string(content.size() % 2, '\0');
  };
  for (uint32_t orientation = 1; orientation <= 8; ++orientation) {
    INFO("orientation " << orientation);
    // A canvas of 3 x 4 with EXIF, the pixels, and EXIF of an odd length, as phones write them.
    const std::string canvas = chunk("VP8X", std::string("\x08\0\0\0\x02\0\0\x03\0\0", 10));
    const std::string content = "WEBP" + canvas + simple.substr(12) + chunk("EXIF", exif_of(orientation, true) + "x");
    const std::string file = chunk("RIFF", content);
    CHECK(exif_orientation(file) == int(orientation));
    CHECK(same_pixels(read_image(file, {3, 0}, "a"), placed(stored, kSides[orientation])));
    const ImageSize upright = image_size(file, "a");
    CHECK(upright.height == (orientation < 5 ? 4 : 3));
    for (size_t length = 0; length < file.size(); ++length) CHECK_NOTHROW(exif_orientation(file.substr(0, length)));
  }
}
#endif

TEST_CASE("an orientation that cannot be read leaves the photo as it is") {
  const std::string jpeg = jpeg_of(picture(8, 12, 3), 90);
  CHECK(exif_orientation(jpeg) == 1);
  for (const uint32_t orientation : {0, 9, 65535}) CHECK(exif_orientation(held(jpeg, orientation, true)) == 1);
  const std::string file = held(jpeg, 6, false);
  for (size_t length = 0; length < 70; ++length) {
    const int found = exif_orientation(file.substr(0, length));
    CHECK((found == 1 || length >= 50));
  }
  for (size_t at = 2; at < 60; ++at)
    for (const int value : {0, 1, 127, 255}) {
      std::string damaged = file;
      damaged[at] = char(value);
      const int found = exif_orientation(damaged);
      CHECK((found >= 1 && found <= 8));
    }
}
