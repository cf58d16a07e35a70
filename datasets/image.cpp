#include "datasets/image.h"

#include <algorithm>

#include "datasets/file.h"
#include "datasets/jpeg_image.h"
#include "datasets/png_image.h"
#include "datasets/resize.h"

namespace neon {

namespace {

[[noreturn]] void no_image(std::string_view bytes, const std::string& source) {
  fail(ErrorKind::data, source, ": expected a JPEG or PNG image", looks_like_clause(bytes.substr(0, 512)));
}

}  // namespace

bool is_image_name(std::string_view name) {
  const std::string small = lower(name.substr(std::min(name.size(), name.rfind('.'))));
  return small == ".jpg" || small == ".jpeg" || small == ".png";
}

ImageSize image_size(std::string_view bytes, const std::string& source) {
  if (is_jpeg(bytes)) return jpeg_size(bytes, source);
  if (is_png(bytes)) return png_size(bytes, source);
  no_image(bytes, source);
}

ImageSize read_image_to(std::string_view bytes, const ImageFormat& format, const std::string& source,
                        const ImageSize& wanted, std::span<uint8_t> to, std::vector<uint8_t>& scratch) {
  NEON_ASSERT(int64_t(to.size()) == wanted.height * wanted.width * format.channels);
  ImageSize size;
  Columns there;
  Tensor image;
  const uint8_t* pixels = nullptr;
  if (is_jpeg(bytes)) {
    size = read_jpeg_to(bytes, int(format.channels), format.size, source, wanted, to, scratch, there);
    pixels = scratch.data();
  } else if (is_png(bytes)) {
    image = read_png(bytes, int(format.channels), source);
    size = {image.shape()[0], image.shape()[1]};
    there = {0, size.width};
    pixels = image.as<uint8_t>().data();
    if (size == wanted) std::ranges::copy(image.as<uint8_t>(), to.begin());
  } else {
    no_image(bytes, source);
  }
  if (size == wanted || format.size == 0) return size;
  resize_middle(pixels, size, there, format.channels, format.size, to);
  return wanted;
}

Tensor read_image(std::string_view bytes, const ImageFormat& format, const std::string& source) {
  Tensor image;
  if (is_jpeg(bytes)) image = read_jpeg(bytes, int(format.channels), format.size, source);
  else if (is_png(bytes)) image = read_png(bytes, int(format.channels), source);
  else no_image(bytes, source);
  const int64_t size = format.size;
  if (size == 0 || (image.shape()[0] == size && image.shape()[1] == size)) return image;
  Tensor out(DType::u8, {size, size, format.channels});
  const ImageSize from{image.shape()[0], image.shape()[1]};
  resize_middle(image.as<uint8_t>().data(), from, {0, from.width}, format.channels, size, out.as<uint8_t>());
  return out;
}

}  // namespace neon
