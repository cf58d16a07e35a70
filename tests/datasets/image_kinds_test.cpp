// BMP, GIF, TIFF and WebP: pixels that are known, and files that are damaged.
#include "datasets/image_kinds.h"

#include <catch2/catch.hpp>
#ifdef NEON_HAVE_WEBP
#include <webp/encode.h>
#endif

#include "datasets/image.h"
#include "image_files.h"
#include "image_support.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

using KindPixels = std::vector<double>;

KindPixels read_colours(const std::string& file, int64_t channels = 3) {
  return values(read_image(file, {channels, 0}, "image"));
}
std::string kind_trouble(const std::string& file) {
  const std::string read = error_of([&] { read_image(file, {3, 0}, "image"); });
  return read;
}

const Palette four_colours = {{10, 20, 30}, {250, 0, 7}, {0, 99, 200}, {255, 255, 255}};

// The colours of indices.
KindPixels colours_at(const std::vector<uint8_t>& indices, const Palette& palette) {
  KindPixels out;
  for (const uint8_t index : indices)
    for (const uint8_t value : palette[index]) out.push_back(value);
  return out;
}

// No prefix of a file crashes its reader, or is taken for the whole.
void check_prefixes(const std::string& file, size_t end) {
  for (size_t bytes = 0; bytes < end; ++bytes) {
    INFO(bytes);
    CHECK(kind_trouble(file.substr(0, bytes)).starts_with("data: image: "));
  }
}

}  // namespace

TEST_CASE("BMP: 24 bits, from above and from below") {
  const Tensor image = picture(5, 7, 3);
  const std::string file = bmp_of(image);
  CHECK(read_colours(file) == values(image));
  CHECK(image_size(file, "image") == ImageSize{5, 7});
  const std::string row1("\1\2\3\4\5\6\0\0", 8), row2("\7\10\11\12\13\14\0\0", 8);
  CHECK(read_colours(bmp_of(2, 2, 24, 0, "", row1 + row2)) == KindPixels{9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4});
  CHECK(read_colours(bmp_of(2, -2, 24, 0, "", row1 + row2)) == KindPixels{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10});
  check_prefixes(file, file.size());
}

TEST_CASE("BMP: palettes of 1, 4 and 8 bits") {
  const std::string palette = bmp_palette(four_colours);
  // Rows of three pixels, from below: 1 0 1, then 0 1 1.
  const std::string one = std::string("\xa0\0\0\0", 4) + std::string("\x60\0\0\0", 4);
  CHECK(read_colours(bmp_of(3, 2, 1, 0, palette.substr(0, 8), one)) == colours_at({0, 1, 1, 1, 0, 1}, four_colours));
  const std::string four = std::string("\x12\x30\0\0", 4);
  CHECK(read_colours(bmp_of(3, 1, 4, 0, palette, four, 4)) == colours_at({1, 2, 3}, four_colours));
  const std::string eight("\3\2\0\1", 4);
  CHECK(read_colours(bmp_of(4, 1, 8, 0, palette, eight, 4)) == colours_at({3, 2, 0, 1}, four_colours));
  CHECK(kind_trouble(bmp_of(4, 1, 8, 0, palette, "\3\2\4\1", 4)) ==
        "data: image: damaged BMP: a pixel has the colour 4, its palette has 4");
  CHECK(kind_trouble(bmp_of(4, 1, 4, 0, palette, "\1\2\3\1", 17)) ==
        "data: image: damaged BMP: its palette has 17 colours, at most 16 are possible");
}

TEST_CASE("BMP: run lengths of 8 and 4 bits") {
  const std::string palette = bmp_palette(four_colours);
  // Three of colour 2; the row's end; one passed over and 1 3 1 as they are; the end.
  const std::string eight(
      "\3\2\0\0"
      "\0\2\1\0"
      "\0\3\1\3\1\0"
      "\0\1",
      16);
  CHECK(read_colours(bmp_of(4, 2, 8, 1, palette, eight, 4)) == colours_at({0, 1, 3, 1, 2, 2, 2, 0}, four_colours));
  // Five of 1 and 2 in turn; the end of the row; 3 0 3 as they are.
  const std::string four(
      "\5\x12\0\0"
      "\0\3\x30\x30"
      "\0\1",
      10);
  CHECK(read_colours(bmp_of(5, 2, 4, 2, palette, four, 4)) == colours_at({3, 0, 3, 0, 0, 1, 2, 1, 2, 1}, four_colours));
  const std::string far("\5\2\0\1", 4);
  CHECK(kind_trouble(bmp_of(4, 2, 8, 1, palette, far, 4)) ==
        "data: image: damaged BMP: a run of pixels leads out of the image");
  const std::string jump("\0\2\1\3\1\1\0\1", 8);
  CHECK_THAT(kind_trouble(bmp_of(4, 2, 8, 1, palette, jump, 4)), Catch::Contains("leads out of the image"));
  const std::string whole = bmp_of(4, 2, 8, 1, palette, eight, 4);
  check_prefixes(whole, whole.size());
}

TEST_CASE("BMP: 16 and 32 bits, with masks and opacity") {
  // 5 bits a colour: v of 31 becomes v 255 / 31, rounded.
  const uint64_t pixel = 31 << 10 | 16 << 5 | 1;
  CHECK(read_colours(bmp_of(1, 1, 16, 0, "", low_bytes(pixel, 4))) == KindPixels{255, std::round(16 * 255.0 / 31), 8});
  const std::string masks565 = low_bytes(0xf800, 4) + low_bytes(0x7e0, 4) + low_bytes(0x1f, 4);
  CHECK(read_colours(bmp_of(1, 1, 16, 3, masks565, low_bytes(20 << 11 | 33 << 5 | 31, 4))) ==
        KindPixels{std::round(20 * 255.0 / 31), std::round(33 * 255.0 / 63), 255});
  CHECK(read_colours(bmp_of(1, 1, 32, 0, "", low_bytes(0x77010203, 4))) == KindPixels{1, 2, 3});
  const std::string masks =
      low_bytes(0xff, 4) + low_bytes(0xff00, 4) + low_bytes(0xff0000, 4) + low_bytes(0xff000000, 4);
  CHECK(read_colours(bmp_of(1, 1, 32, 6, masks, low_bytes(0x80c86432, 4))) ==
        KindPixels{std::round(50 * 128.0 / 255), std::round(100 * 128.0 / 255), std::round(200 * 128.0 / 255)});
  CHECK(kind_trouble(bmp_of(1, 1, 32, 3, low_bytes(5, 4) + masks.substr(4), "abcd")) ==
        "data: image: damaged BMP: a mask of bits has gaps");
  CHECK_THAT(kind_trouble(bmp_of(1, 1, 7, 0, "", "abcd")), Catch::Contains("pixels of 7 bits"));
  CHECK_THAT(kind_trouble(bmp_of(1 << 20, 1 << 20, 24, 0, "", "")), Catch::Contains("pixels are more than 67108864"));
  CHECK_THAT(kind_trouble(bmp_of(0, 4, 24, 0, "", "")), Catch::Contains("0 x 4 pixels are no image"));
}

#ifdef NEON_HAVE_GIF
TEST_CASE("GIF: the first frame, interlaced, transparent, and smaller than the image") {
  Palette palette;
  for (int k = 0; k < 256; ++k) palette.push_back({uint8_t(k), uint8_t(255 - k), uint8_t(k * 7)});
  std::vector<uint8_t> indices;
  for (int i = 0; i < 19 * 23; ++i) indices.push_back(uint8_t(i * 31 + 5));
  const KindPixels wanted = colours_at(indices, palette);
  const std::string file = gif_of(indices, 23, 19, palette, {23, 19});
  CHECK(read_colours(file) == wanted);
  CHECK(image_size(file, "image") == ImageSize{19, 23});
  CHECK(read_colours(gif_of(indices, 23, 19, palette, {23, 19, 0, 0, true})) == wanted);
  CHECK(read_colours(gif_of(indices, 23, 19, palette, {0, 0})) == wanted);  // without a canvas
  // At (1,2) of an image of 5 x 4; colour 9 is transparent.
  const KindPixels placed = read_colours(gif_of({9, 8, 7, 6}, 2, 2, palette, {5, 4, 1, 2, false, 9}));
  KindPixels expected(5 * 4 * 3, 0);
  for (const auto& [at, index] : {std::pair(12, 8), {16, 7}, {17, 6}})
    for (size_t c = 0; c < 3; ++c) expected[size_t(at) * 3 + c] = palette[size_t(index)][c];
  CHECK(placed == expected);
  CHECK_THAT(kind_trouble(gif_of({9, 8}, 2, 1, palette, {2, 2, 1, 0})), Catch::Contains("does not lie in the image"));
  CHECK_THAT(kind_trouble(gif_of({9, 8}, 2, 1, palette, {65000, 65000})), Catch::Contains("are more than 67108864"));
  check_prefixes(file, file.size() - 4);
}
#endif

#ifdef NEON_HAVE_TIFF
TEST_CASE("TIFF: grey, colours, opacity and orientation") {
  const Tensor image = picture(4, 6, 3), grey = picture(4, 6, 1);
  const std::string file = tiff_of(image);
  CHECK(read_colours(file) == values(image));
  CHECK(image_size(file, "image") == ImageSize{4, 6});
  CHECK(read_colours(tiff_of(grey), 1) == values(grey));
  Tensor clear(DType::u8, {1, 2, 4});
  for (int64_t i = 0; i < 8; ++i) clear.set(i, double(25 * i + 20));
  KindPixels mixed;
  for (int64_t i : {0, 1, 2, 4, 5, 6}) mixed.push_back(clear.at(i) * clear.at(i < 4 ? 3 : 7) / 255);
  const KindPixels found = read_colours(tiff_of(clear));
  for (size_t i = 0; i < 6; ++i) CHECK(std::abs(found[i] - mixed[i]) <= 1);
  Tensor clear_grey(DType::u8, {1, 3, 2});
  const double greys[] = {200, 255, 200, 51, 200, 0}, on_black[] = {200, 40, 0};
  for (int64_t i = 0; i < 6; ++i) clear_grey.set(i, greys[i]);
  CHECK(read_colours(tiff_of(clear_grey), 1) == KindPixels(std::begin(on_black), std::end(on_black)));
  // Held to the right: the first row is the right column of what is upright.
  const KindPixels turned = read_colours(tiff_of(image, 6));
  CHECK(image_size(tiff_of(image, 6), "image") == ImageSize{6, 4});
  for (int64_t y = 0; y < 4; ++y)
    for (int64_t x = 0; x < 6; ++x)
      for (int64_t c = 0; c < 3; ++c) CHECK(turned[size_t((x * 4 + 3 - y) * 3 + c)] == image.at((y * 6 + x) * 3 + c));
  check_prefixes(file, file.size() - 4);
  std::string huge = file;
  huge.replace(file.size() - 4 - 10 * 12 + 8, 4, low_bytes(1 << 20, 4));
  huge.replace(file.size() - 4 - 9 * 12 + 8, 4, low_bytes(1 << 20, 4));
  CHECK_THAT(kind_trouble(huge), Catch::Contains("are more than 67108864"));
}
#endif

#ifdef NEON_HAVE_WEBP
TEST_CASE("WebP: colours, opacity, and damage") {
  const Tensor image = picture(9, 11, 3);
  uint8_t* bytes = nullptr;
  const auto taken = [&](size_t size) {
    std::string out(reinterpret_cast<const char*>(bytes), size);
    WebPFree(bytes);
    return out;
  };
  const std::string file = taken(WebPEncodeLosslessRGB(image.as<uint8_t>().data(), 11, 9, 33, &bytes));
  CHECK(read_colours(file) == values(image));
  CHECK(image_size(file, "image") == ImageSize{9, 11});
  Tensor clear(DType::u8, {1, 2, 4});
  for (int64_t i = 0; i < 8; ++i) clear.set(i, double(25 * i + 20));
  const std::string with_opacity = taken(WebPEncodeLosslessRGBA(clear.as<uint8_t>().data(), 2, 1, 8, &bytes));
  KindPixels mixed;
  for (int64_t i : {0, 1, 2, 4, 5, 6}) mixed.push_back(std::round(clear.at(i) * clear.at(i < 4 ? 3 : 7) / 255));
  CHECK(read_colours(with_opacity) == mixed);
  check_prefixes(file, file.size() - 1);
}
#endif

TEST_CASE("grey of a coloured BMP is that of a PNG") {
  const Tensor image = picture(5, 7, 3);
  CHECK(read_colours(bmp_of(image), 1) == read_colours(png_of(image), 1));
}

TEST_CASE("a folder may mix all kinds of images") {
  const TempDir dir;
  const Tensor image = picture(6, 6, 3);
  dir.write("photos/a/0.png", png_of(image));
  dir.write("photos/b/1.BMP", bmp_of(image));
  int64_t count = 2;
#ifdef NEON_HAVE_TIFF
  dir.write("photos/a/2.tif", tiff_of(image)), dir.write("photos/b/3.tiff", tiff_of(image)), count += 2;
#endif
  REQUIRE(std::system(text("cd ", dir.path(), " && tar cf photos.tar photos").c_str()) == 0);
  for (const char* path : {"photos", "photos.tar"})
    for (const char* size : {"0", "3"}) {
      const Data data = make("ImageFolder", {{"path", dir / path}, {"test", "none"}, {"size", size}})->load(offline());
      REQUIRE(data.train.size() == count);
      const KindPixels first = values(data.train.inputs.rows(0, 1));
      for (int64_t i = 1; i < count; ++i) CHECK(values(data.train.inputs.rows(i, 1)) == first);
    }
  for (const char* name : {"a.gif", "a.webp", "A.TIFF", "x/y.bmp"}) CHECK(is_image_name(name));
  for (const char* name : {"gif", "a.gifs", "a.", "", "a.txt"}) CHECK_FALSE(is_image_name(name));
}
