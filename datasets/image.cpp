#include "datasets/image.h"

#include <algorithm>
#include <vector>

#include "datasets/exif.h"
#include "datasets/file.h"
#include "datasets/image_kinds.h"
#include "datasets/jpeg_image.h"
#include "datasets/resize.h"

namespace neon {

namespace {

[[noreturn]] void no_image(std::string_view bytes, const std::string& source) {
  fail(ErrorKind::data, source, ": expected a JPEG, PNG, BMP, GIF, TIFF or WebP image",
       looks_like_clause(bytes.substr(0, 512)));
}

// As read_jpeg_to. The middle of the stored image, turned, is the middle of the upright one.
ImageSize read_upright_to(std::string_view bytes, const ImageFormat& format, const std::string& source,
                          const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer) {
  const int orientation = exif_orientation(bytes), channels = int(format.channels);
  if (orientation == 1) return read_jpeg_to(bytes, channels, format.size, source, wanted, to, resizer);
  std::vector<uint8_t> stored(to.size());
  const ImageSize as_stored = upright_size(wanted, orientation);  // the way back swaps the same axes
  const ImageSize turned = upright_size(format.size, orientation);
  const ImageSize size =
      read_jpeg_to(bytes, channels, {turned.height, turned.width}, source, as_stored, stored, resizer);
  if (size == as_stored) set_upright(stored, size, channels, orientation, to);
  return upright_size(size, orientation);
}

// (H,W,C)
Tensor read_kind(const ImageKind& kind, std::string_view bytes, const ImageFormat& format, const std::string& source) {
  return upright(kind.read(bytes, int(format.channels), source), exif_orientation(bytes));
}

}  // namespace

bool is_image_name(std::string_view name) {
  const std::string small = lower(name.substr(std::min(name.size(), name.rfind('.'))));
  if (small == ".jpg" || small == ".jpeg") return true;
  const auto kinds = image_kinds();
  return !small.empty() &&
         std::ranges::any_of(kinds, [&](const ImageKind& kind) { return std::ranges::count(kind.endings, small) > 0; });
}

std::vector<std::string> image_endings() {
  std::vector<std::string> out = {".jpg", ".jpeg"};
  for (const ImageKind& kind : image_kinds())
    for (const std::string_view ending : kind.endings)
      if (!ending.empty()) out.emplace_back(ending);
  return out;
}

std::string image_endings_text() {
  std::vector<std::string> all = image_endings();
  const std::string last = all.back();
  all.pop_back();
  return text(join(all, ", "), " or ", last);
}

bool is_image(std::string_view bytes) { return is_jpeg(bytes) || image_kind_of(bytes); }

ImageSize image_size(std::string_view bytes, const std::string& source) {
  if (is_jpeg(bytes)) return upright_size(jpeg_size(bytes, source), exif_orientation(bytes));
  if (const ImageKind* const kind = image_kind_of(bytes))
    return upright_size(kind->size(bytes, source), exif_orientation(bytes));
  no_image(bytes, source);
}

ImageSize read_image_to(std::string_view bytes, const ImageFormat& format, const std::string& source,
                        const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer) {
  NEON_ASSERT(int64_t(to.size()) == wanted.height * wanted.width * format.channels);
  if (is_jpeg(bytes)) return read_upright_to(bytes, format, source, wanted, to, resizer);
  const ImageKind* const kind = image_kind_of(bytes);
  if (!kind) no_image(bytes, source);
  const Tensor image = read_kind(*kind, bytes, format, source);
  const ImageSize size{image.shape()[0], image.shape()[1]};
  const auto pixels = image.as<uint8_t>();
  if (size == wanted) std::ranges::copy(pixels, to.begin());
  if (size == wanted || !format.size.given()) return size;
  resize_middle(pixels.data(), size, format.channels, format.size, to);
  return wanted;
}

Tensor read_image(std::string_view bytes, const ImageFormat& format, const std::string& source) {
  if (!format.size.given() && is_jpeg(bytes)) {
    const Tensor stored = read_jpeg(bytes, int(format.channels), 1, source);
    return upright(stored, exif_orientation(bytes));
  }
  const ImageKind* const kind = image_kind_of(bytes);
  if (!format.size.given() && kind) return read_kind(*kind, bytes, format, source);
  if (!format.size.given()) no_image(bytes, source);
  Tensor out(DType::u8, {format.size.height, format.size.width, format.channels});
  Resizer resizer;
  read_image_to(bytes, format, source, format.size, out.as<uint8_t>(), resizer);
  return out;
}

}  // namespace neon
