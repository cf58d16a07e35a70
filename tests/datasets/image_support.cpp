#include "image_support.h"

#include <png.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
// After cstdio, which it needs.
#include <jpeglib.h>

using namespace neon;

namespace neon_test {

Tensor picture(int64_t height, int64_t width, int64_t channels, int kind) {
  Tensor out(DType::u8, {height, width, channels});
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t along = c == 0 ? x : c == 1 ? y : x + y, most = c == 2 ? height + width : c == 0 ? width : height;
        out.set((y * width + x) * channels + c, double(20 + (200 * along / most + 40 * kind) % 220));
      }
  return out;
}

std::string numbered_png(int number, int64_t side) {
  Tensor image = picture(side, side, 3);
  image.set(0, number % 256);
  image.set(1, number / 256);
  return png_of(image);
}

std::string jpeg_of(const Tensor& image, int quality, bool progressive, ColourBlock block) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_height = JDIMENSION(image.shape()[0]);
  info.image_width = JDIMENSION(image.shape()[1]);
  info.input_components = int(image.shape()[2]);
  info.in_color_space = info.input_components == 1 ? JCS_GRAYSCALE : info.input_components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  for (int c = 0; c < info.num_components; ++c) info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  info.comp_info[0].h_samp_factor = block.width;
  info.comp_info[0].v_samp_factor = block.height;
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  Tensor copy = image.clone();
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = &copy.as<uint8_t>()[size_t(info.next_scanline) * size_t(image.shape()[1] * image.shape()[2])];
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string out(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return out;
}

namespace {

void append_bytes(png_structp png, png_bytep bytes, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(bytes), size);
}

}  // namespace

std::string png_of(const Tensor& image, int bits) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append_bytes, nullptr);
  const int64_t channels = image.shape()[2], row = image.shape()[1] * channels;
  png_set_IHDR(png, info, png_uint_32(image.shape()[1]), png_uint_32(image.shape()[0]), bits,
               (channels > 2 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY) | (channels % 2 ? 0 : PNG_COLOR_MASK_ALPHA),
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
  png_write_info(png, info);
  for (int64_t y = 0; y < image.shape()[0]; ++y) {
    std::vector<png_byte> line;
    for (int64_t i = 0; i < row; ++i)
      for (int byte = 0; byte < bits / 8; ++byte) line.push_back(image.as<uint8_t>()[size_t(y * row + i)]);
    png_write_row(png, line.data());
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::string with_jpeg_size(std::string jpeg, int height, int width) {
  for (size_t at = 2; at + 9 < jpeg.size();) {  // segments: ff, kind, length of two bytes
    const auto kind = uint8_t(jpeg[at + 1]);
    if (kind == 0xc0 || kind == 0xc2) {
      for (int i = 0; i < 2; ++i) {
        jpeg[at + 5 + size_t(i)] = char(height >> (8 - 8 * i));
        jpeg[at + 7 + size_t(i)] = char(width >> (8 - 8 * i));
      }
      return jpeg;
    }
    at += 2 + (size_t(uint8_t(jpeg[at + 2])) << 8) + uint8_t(jpeg[at + 3]);
  }
  FAIL("no frame header");
  return jpeg;
}

std::string tar_member(const std::string& name, const std::string& content, char type) {
  std::string header(512, '\0');
  auto put = [&](size_t at, const std::string& field) { header.replace(at, field.size(), field); };
  char octal[16];
  put(0, name.substr(0, 100));
  put(100, "0000644");
  std::snprintf(octal, sizeof octal, "%011zo", content.size());
  put(124, octal);
  put(136, "00000000000");
  put(148, "        ");
  header[156] = type;
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (char c : header) sum += uint8_t(c);
  std::snprintf(octal, sizeof octal, "%06o", sum);
  put(148, octal);
  header[154] = '\0';
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

std::string tar_of(const Files& files) {
  std::string out;
  for (const auto& [name, content] : files) out += tar_member(name, content);
  return out + std::string(1024, '\0');
}

int farthest(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  int out = 0;
  for (int64_t i = 0; i < a.elements(); ++i) out = std::max(out, std::abs(int(a.at(i)) - int(b.at(i))));
  return out;
}

void write_images(const TempDir& dir, int count, int64_t side) {
  for (int i = 0; i < count; ++i)
    dir.write(text("images/train/", i % 2 ? "odd" : "even", "/", i, ".png"), png_of(picture(side, side, 3, i)));
  dir.write("images/test/odd/0.png", png_of(picture(side, side, 3, 1)));
}

PackResult pack(const TempDir& dir, const std::string& to, PackOptions options) {
  return pack_images(*make("ImageFolder", {{"path", dir / "images"}})->images(offline()), dir / to, options);
}

}  // namespace neon_test
