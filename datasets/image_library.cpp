// Images that libraries decode: by the module that has these.
#include "datasets/image_kinds.h"
#include "datasets/image_part.h"
#include "datasets/jpeg_image.h"
#include "datasets/png_image.h"

namespace neon {

namespace {

bool is_gif(std::string_view bytes) { return bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a"); }

bool is_tiff(std::string_view bytes) {
  using namespace std::string_view_literals;
  for (const std::string_view start : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    if (bytes.starts_with(start)) return true;
  return false;
}

bool is_webp(std::string_view bytes) {
  return bytes.size() >= 16 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP";
}

template <ImageDecoder ImagePart::*kDecoder>
ImageSize size_of(std::string_view bytes, const std::string& source) {
  return (part<ImagePart>().*kDecoder).size(bytes, source);
}

template <ImageDecoder ImagePart::*kDecoder>
Tensor pixels_of(std::string_view bytes, int channels, const std::string& source) {
  return (part<ImagePart>().*kDecoder).read(bytes, channels, source);
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

ImageSize png_size(std::string_view bytes, const std::string& source) {
  return part<ImagePart>().png.size(bytes, source);
}

Tensor read_png(std::string_view bytes, int channels, const std::string& source) {
  return part<ImagePart>().png.read(bytes, channels, source);
}

void need_image_library() { part<ImagePart>(); }

std::string png_bytes(const Tensor& image) { return part<ImagePart>().png_bytes(image); }

void write_png(const Tensor& image, const std::string& path) { part<ImagePart>().write_png(image, path); }

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

ImageSize jpeg_size(std::string_view bytes, const std::string& source) {
  return part<ImagePart>().jpeg_size(bytes, source);
}

int64_t jpeg_denominator(const ImageSize& size, const SampleSize& wanted) {
  for (const int64_t denominator : {8, 4, 2})
    if (wanted.given() && size.height / denominator >= wanted.height && size.width / denominator >= wanted.width)
      return denominator;
  return 1;
}

Tensor read_jpeg(std::string_view bytes, int channels, int64_t denominator, const std::string& source) {
  return part<ImagePart>().read_jpeg(bytes, channels, denominator, source);
}

ImageSize read_jpeg_to(std::string_view bytes, int channels, const SampleSize& middle, const std::string& source,
                       const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer) {
  return part<ImagePart>().read_jpeg_to(bytes, channels, middle, source, wanted, to, resizer);
}

const ImageKind kPngKind = {"PNG", {".png"}, is_png, png_size, read_png};
const ImageKind kGifKind = {"GIF", {".gif"}, is_gif, size_of<&ImagePart::gif>, pixels_of<&ImagePart::gif>};
const ImageKind kTiffKind = {
    "TIFF", {".tif", ".tiff"}, is_tiff, size_of<&ImagePart::tiff>, pixels_of<&ImagePart::tiff>};
const ImageKind kWebpKind = {"WebP", {".webp"}, is_webp, size_of<&ImagePart::webp>, pixels_of<&ImagePart::webp>};

}  // namespace neon
