// Images as samples: JPEG and PNG of every kind, sizes, and what is wrong with files.
#include "datasets/image.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "datasets/gzip.h"
#include "datasets/jpeg_image.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

Tensor read(const std::string& bytes, const ImageFormat& format = {}) { return read_image(bytes, format, "a.img"); }
// Of all lines and columns, decoded smaller where a file may be.
std::vector<uint8_t> middle_of_whole(const std::string& jpeg, const ImageSize& size, int64_t channels, int64_t side) {
  const int64_t denominator = jpeg_denominator(size, side);
  const Tensor image = read_jpeg(jpeg, int(channels), denominator, "a");
  const int64_t height = image.shape()[0], width = image.shape()[1];
  std::vector<uint8_t> out(size_t(side * side * channels));
  if (height == side && width == side) return {image.as<uint8_t>().begin(), image.as<uint8_t>().end()};
  Resizer resizer;
  resizer.plan(size, channels, side, denominator);
  resizer.begin({0, width}, out);
  for (int64_t y = 0; y < height; ++y) {
    std::ranges::copy(image.rows(y, 1).as<uint8_t>(), resizer.line(0));
    resizer.add(1);
  }
  return out;
}

std::string image_trouble(const std::string& bytes, const ImageFormat& format = {}) {
  return error_of([&] { read(bytes, format); });
}

}  // namespace

TEST_CASE("a JPEG's pixels are those that were written, but for what the compression loses") {
  for (int64_t channels : {1, 3})
    for (bool progressive : {false, true}) {
      const Tensor image = picture(37, 50, channels);
      const std::string jpeg = jpeg_of(image, 100, progressive);
      CHECK(image_size(jpeg, "a.jpg") == ImageSize{37, 50});
      CHECK(farthest(read(jpeg, {channels, 0}), image) <= 4);
    }
}

TEST_CASE("a PNG's pixels are those that were written, of 16 bits the upper 8") {
  for (int64_t channels : {1, 3})
    for (int bits : {8, 16}) {
      INFO(channels << " channels of " << bits << " bits");
      const Tensor image = picture(9, 14, channels);
      CHECK(image_size(png_of(image, bits), "a.png") == ImageSize{9, 14});
      CHECK(farthest(read(png_of(image, bits), {channels, 0}), image) <= 1);
    }
}

TEST_CASE("grey images become RGB, and colours grey, as the format asks") {
  const Tensor grey = picture(16, 16, 1);
  for (const std::string& file : {jpeg_of(grey, 100), png_of(grey)}) {
    const Tensor rgb = read(file, {3, 0});
    CHECK(rgb.shape() == Shape{16, 16, 3});
    for (int64_t i = 0; i < rgb.elements(); ++i) REQUIRE(std::abs(rgb.at(i) - grey.at(i / 3)) <= 4);
  }
  // Y = 0.299 R + 0.587 G + 0.114 B (JFIF 1.02, page 3), whatever kind of file the colour is in.
  const double shares[] = {0.299, 0.587, 0.114};
  for (int channel : {0, 1, 2}) {
    INFO("channel " << channel);
    Tensor colour(DType::u8, {8, 8, 3});
    for (int64_t i = channel; i < colour.elements(); i += 3) colour.set(i, 200);
    CHECK(std::abs(read(jpeg_of(colour, 100), {1, 0}).at(0) - shares[channel] * 200) <= 3);
    for (int bits : {8, 16}) CHECK(std::abs(read(png_of(colour, bits), {1, 0}).at(0) - shares[channel] * 200) <= 1);
  }
}

TEST_CASE("what is transparent in a PNG lies on black, by the numbers of its colours") {
  for (const int64_t channels : {2, 4})
    for (const int bits : {8, 16}) {
      INFO(channels << " channels of " << bits << " bits");
      const Tensor image = picture(9, 14, channels), rgb = read(png_of(image, bits), {3, 0});
      for (int64_t i = 0; i < rgb.elements(); ++i) {
        const int64_t pixel = i / 3 * channels;
        const double colour = image.at(pixel + (channels == 4 ? i % 3 : 0)),
                     seen = image.at(pixel + channels - 1) / 255;
        REQUIRE(std::abs(rgb.at(i) - colour * seen) <= 1);
      }
    }
}

TEST_CASE("the shorter side is brought to the size, and the middle is taken") {
  Tensor image(DType::u8, {20, 60, 3});  // left third black, the middle 100, right third white
  for (int64_t i = 0; i < image.elements(); ++i) image.set(i, i / 3 % 60 < 20 ? 0 : i / 3 % 60 < 40 ? 100 : 255);
  const Tensor small = read(png_of(image), {3, 10});
  CHECK(small.shape() == Shape{10, 10, 3});
  for (int64_t y = 0; y < 10; ++y)
    for (int64_t x = 1; x < 9; ++x) REQUIRE(small.at((y * 10 + x) * 3) == 100);
  CHECK(read(png_of(image), {3, 30}).shape() == Shape{30, 30, 3});
  CHECK(read(png_of(image), {3, 20}).at(30) == 100);
}

TEST_CASE("a JPEG of four inks has the colours that they leave of white") {
  const Tensor inks = picture(37, 50, 4);  // 255 stands for no ink
  Tensor rgb(DType::u8, {37, 50, 3}), grey(DType::u8, {37, 50, 1});
  for (int64_t i = 0; i < 37 * 50; ++i) {
    double sum = 0;
    for (int64_t c = 0; c < 3; ++c) {
      const double colour = std::round(inks.at(4 * i + c) * inks.at(4 * i + 3) / 255);
      rgb.set(3 * i + c, colour);
      sum += (c == 0 ? 0.299 : c == 1 ? 0.587 : 0.114) * colour;
    }
    grey.set(i, std::round(sum));
  }
  for (const bool progressive : {false, true}) {
    const std::string jpeg = jpeg_of(inks, 100, progressive);
    CHECK(image_size(jpeg, "a.jpg") == ImageSize{37, 50});
    CHECK(farthest(read(jpeg, {3, 0}), rgb) <= 4);
    CHECK(farthest(read(jpeg, {1, 0}), grey) <= 4);
    CHECK(farthest(read(jpeg, {3, 20}), read(png_of(rgb), {3, 20})) <= 4);
    CHECK(farthest(read(jpeg, {1, 20}), read(png_of(grey), {1, 20})) <= 4);
  }
  Tensor no_ink(DType::u8, {8, 8, 4}), black(DType::u8, {8, 8, 4});
  std::ranges::fill(no_ink.as<uint8_t>(), 255);
  for (int64_t i = 0; i < black.elements(); ++i) black.set(i, i % 4 == 3 ? 0 : 255);
  CHECK(read(jpeg_of(no_ink, 100)).at(0) == 255);
  CHECK(read(jpeg_of(black, 100)).at(0) == 0);
}

TEST_CASE("a large JPEG is decoded smaller, never below the size asked for") {
  const Tensor image = picture(200, 320, 3);
  for (const int64_t denominator : {1, 2, 4, 8})
    CHECK(read_jpeg(jpeg_of(image), 3, denominator, "a").shape() == Shape{200 / denominator, 320 / denominator, 3});
  for (const auto& [side, denominator] : {std::pair{0, 1}, {101, 1}, {100, 2}, {51, 2}, {50, 4}, {25, 8}, {10, 8}}) {
    CHECK(jpeg_denominator({200, 320}, side) == denominator);
    CHECK(jpeg_denominator({320, 200}, side) == denominator);
  }
  CHECK(farthest(read(jpeg_of(image, 100), {3, 50}), read(png_of(image), {3, 50})) <= 4);
}

TEST_CASE("a JPEG that is decoded smaller lies where the whole image does, also where pixels are left over") {
  // A slope of 255 levels from end to end both ways, which a shift of a pixel of the small image changes by 255 / side.
  for (const auto& [height, width] :
       {std::pair{160, 160}, {161, 161}, {162, 167}, {169, 175}, {161, 330}, {331, 163}, {449, 450}})
    for (const int64_t side : {19, 20}) {
      INFO(height << " x " << width << " to " << side);
      Tensor image(DType::u8, {height, width, 3});
      for (int64_t i = 0; i < image.elements(); ++i) {
        const double row = double(i / 3 / width) + 0.5, column = double(i / 3 % width) + 0.5;
        image.set(i, std::floor(127.5 * (row / double(height) + column / double(width))));
      }
      const Tensor small = read(jpeg_of(image, 100), {3, side});
      const double scale = double(std::min(height, width)) / double(side);
      for (int64_t i = 0; i < small.elements(); ++i) {
        const auto place = [&](int64_t at, int64_t length) {
          const auto whole = std::max(side, int64_t(std::llround(double(length) / scale)));
          return (double((whole - side) / 2 + at) + 0.5) / double(whole);
        };
        const int64_t row = i / 3 / side, column = i / 3 % side;
        const bool border = row == 0 || column == 0 || row == side - 1 || column == side - 1;
        const double expected = 127.5 * (place(row, height) + place(column, width)) - 0.5;
        REQUIRE(std::abs(small.at(i) - expected) <= (border ? 4 : 2));
      }
    }
}

TEST_CASE("of a JPEG the columns that are kept have the pixels of the whole image") {
  Resizer resizer;  // of each after others, as a thread's
  const ColourBlock blocks[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 4}, {4, 1}, {2, 4}, {4, 2}};
  for (const ColourBlock& block : blocks)
    for (const int64_t channels : {1, 3})
      for (const auto& [height, width] : {std::pair{60, 100}, {60, 333}, {61, 61}, {100, 60}, {97, 151}})
        for (const bool progressive : {false, true})
          for (const int64_t side : {7, 13, 31, 48, 60, 80}) {
            INFO(height << " x " << width << " to " << side << ", " << channels << " channels, colours of "
                        << block.height << " x " << block.width << (progressive ? ", progressive" : ""));
            const std::string jpeg = jpeg_of(picture(height, width, channels, 2), 80, progressive, block);
            std::vector<uint8_t> pixels(size_t(side * side * channels));
            const ImageSize wanted{side, side};
            CHECK(read_image_to(jpeg, {channels, side}, "a.img", wanted, pixels, resizer) == wanted);
            CHECK(pixels == middle_of_whole(jpeg, {height, width}, channels, side));
          }
}

TEST_CASE("damaged and foreign images are errors that name the file") {
  const std::string jpeg = jpeg_of(picture(64, 64, 3)), png = png_of(picture(64, 64, 3));
  CHECK(image_trouble("") ==
        "data: a.img: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image; it looks like an empty file");
  CHECK(image_trouble("<html>no</html>").find("an HTML page") != std::string::npos);
  CHECK(image_trouble("8BPS").starts_with("data: a.img: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image"));
  CHECK(image_trouble(jpeg.substr(0, jpeg.size() / 2))
            .starts_with("data: a.img: damaged JPEG: Premature end of JPEG file"));
  CHECK(image_trouble(jpeg.substr(0, 40)).starts_with("data: a.img: "));
  CHECK(image_trouble(png.substr(0, png.size() / 2)).starts_with("data: a.img: damaged PNG: "));
  CHECK(image_trouble(png.substr(0, 20)).starts_with("data: a.img: no readable PNG: "));
  CHECK(image_trouble(with_jpeg_size(jpeg, 65500, 65500)) ==
        "data: a.img: 65500 x 65500 pixels are more than 67108864");
  CHECK(image_trouble(with_jpeg_size(jpeg, 0, 64)).starts_with("data: a.img: "));
  std::string marked = jpeg;  // with the marker of a restart where there is none
  marked.replace(jpeg.size() - 200, 2, "\xff\xd3");
  CHECK(image_trouble(marked).starts_with("data: a.img: damaged JPEG: "));
  // Where bytes of a scan are missing, or are others, the rest goes astray, and some are left over at its end.
  for (const bool progressive : {false, true}) {
    const std::string whole = jpeg_of(picture(200, 300, 3), 95, progressive);
    std::string holed = whole, garbled = whole;
    holed.erase(whole.size() / 2, 300);
    for (size_t i = 0; i < 200; ++i) garbled[whole.size() / 2 + i] = char(i * i % 251);
    CHECK(image_trouble(holed).starts_with("data: a.img: damaged JPEG: "));
    CHECK(image_trouble(garbled).starts_with("data: a.img: damaged JPEG: "));
    CHECK(image_trouble(holed, {3, 100}).starts_with("data: a.img: damaged JPEG: "));
  }
  // Scans without pixels between them, as many as one likes.
  const std::string progressive = jpeg_of(picture(16, 16, 1), 90, true);
  const size_t scan = progressive.rfind("\xff\xda");
  std::string bomb = progressive.substr(0, progressive.size() - 2);
  for (int i = 0; i < 600; ++i) bomb += progressive.substr(scan, progressive.size() - 2 - scan);
  CHECK(image_trouble(bomb + "\xff\xd9").starts_with("data: a.img: "));
}

TEST_CASE("bytes that mean nothing beside an image's pixels do no harm") {
  std::string jpeg = jpeg_of(picture(16, 16, 3));
  const Tensor image = read(jpeg);
  CHECK(farthest(read(jpeg + "trailing bytes"), image) == 0);
  for (const size_t zeros : {1, 3, 7, 8, 10, 100, 5000}) {  // behind the last scan
    std::string padded = jpeg;
    padded.insert(jpeg.size() - 2, zeros, '\0');
    INFO(zeros);
    CHECK(farthest(read(padded), image) == 0);
  }
  jpeg.insert(20, "\0\0\0", 3);  // behind the JFIF header
  CHECK(farthest(read(jpeg), image) == 0);
}

TEST_CASE("a PNG of too many pixels or of damaged chunks is an error that names the file") {
  const std::string png = png_of(picture(64, 64, 3));
  const auto number = [](uint32_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += char(value >> shift);
    return out;
  };
  // The signature's 8 bytes; then of IHDR its length, its name, 13 bytes that begin with width and height, its CRC.
  REQUIRE(png.substr(8, 16) == number(13) + "IHDR" + number(64) + number(64));
  REQUIRE(png.substr(29, 4) == number(crc32_of(std::string_view(png).substr(12, 17))));
  const auto of_size = [&](uint32_t width, uint32_t height) {
    std::string out = png;
    out.replace(16, 8, number(width) + number(height));
    return out.replace(29, 4, number(crc32_of(std::string_view(out).substr(12, 17))));
  };
  const auto damaged_at = [&](size_t place) {
    std::string out = png;
    out[place] = char(out[place] ^ 1);
    return out;
  };
  // The one chunk of pixels ends with its CRC, and IEND follows, of 12 bytes.
  const size_t pixels = png.find("IDAT"), end_of_pixels = png.size() - 12;
  REQUIRE(png.substr(pixels - 4, 4) == number(uint32_t(end_of_pixels - 4 - (pixels + 4))));
  for (const int64_t side : {0, 16}) {
    INFO("to a side of " << side);
    const ImageFormat format{3, side};
    CHECK(image_trouble(of_size(64, 64), format) == "no error");
    CHECK(image_trouble(of_size(65000, 65000), format) == "data: a.img: 65000 x 65000 pixels are more than 67108864");
    CHECK(image_trouble(of_size(8193, 8192), format) == "data: a.img: 8193 x 8192 pixels are more than 67108864");
    for (const uint32_t huge : {2000000u, 0x7fffffffu, 0xffffffffu})
      CHECK(image_trouble(of_size(huge, huge), format).starts_with("data: a.img: no readable PNG: "));
    for (const size_t place : {16, 32})  // the width, the CRC
      CHECK(image_trouble(damaged_at(place), format).starts_with("data: a.img: no readable PNG: IHDR: CRC error"));
    for (const size_t place : {pixels + 30, end_of_pixels - 1})  // some compressed pixels, the CRC
      CHECK(image_trouble(damaged_at(place), format).starts_with("data: a.img: damaged PNG: IDAT: "));
  }
  for (const uint32_t huge : {65000u, 0xffffffffu})
    CHECK(error_of([&] { image_size(of_size(huge, huge), "a.img"); }).starts_with("data: a.img: "));
}
