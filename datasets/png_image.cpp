// PNG images, by libpng (Debian: libpng-dev).
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "datasets/image_colours.h"
#include "datasets/image_part.h"

namespace neon {

namespace {

// Everything but these ancillary chunks is passed over: their texts may unpack to gigabytes.
constexpr png_byte kUsedChunks[] = "cHRM\0gAMA\0iCCP\0sBIT\0sRGB";
constexpr int kUsedChunkCount = 5;

// libpng's row interface: its simplified one (png_image) gets interlaced images of 16 bits wrong in Debian's 1.6.39.
// libpng reports errors by longjmp: no function between setjmp and the library may own anything.
class PngDecoder {
 public:
  PngDecoder(std::string_view bytes, const std::string& source) : source_(source), unread_{bytes} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, note_error, ignore_warning);
    if (png_) info_ = png_create_info_struct(png_);
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  ImageSize header() {
    if (!info_ || !read_header()) fail(ErrorKind::data, source_, ": no readable PNG: ", message_);
    const ImageSize size{int64_t(png_get_image_height(png_, info_)), int64_t(png_get_image_width(png_, info_))};
    if (size.height * size.width > kMostPixels)
      fail(ErrorKind::data, source_, ": ", size.width, " x ", size.height, " pixels are more than ", kMostPixels);
    return size;
  }
  bool has_colour() const { return png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR; }
  // By a channel of its own, or by a colour or entries of the palette.
  bool has_transparency() const {
    return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) || png_get_valid(png_, info_, PNG_INFO_tRNS);
  }
  // Pixels as `to` (H,W,C) u8 has room for: C is 1 or 3, and one more where there is transparency.
  void pixels(Tensor& to) {
    const int64_t height = to.shape()[0], row = to.shape()[1] * to.shape()[2];
    if (!read_rows(static_cast<png_bytep>(to.data()), height, size_t(row), to.shape()[2] > 2))
      fail(ErrorKind::data, source_, ": damaged PNG: ", message_);
  }

 private:
  [[noreturn]] static void note_error(png_structp png, png_const_charp message) {
    auto* decoder = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(decoder->message_, message, sizeof decoder->message_ - 1);
    png_longjmp(png, 1);
  }
  static void ignore_warning(png_structp, png_const_charp) {}
  static void give_bytes(png_structp png, png_bytep to, size_t count) {
    std::string_view& unread = static_cast<PngDecoder*>(png_get_io_ptr(png))->unread_;
    if (count > unread.size()) png_error(png, "read beyond end of data");
    std::memcpy(to, unread.data(), count);
    unread.remove_prefix(count);
  }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_benign_errors(png_, 1);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_AS_DEFAULT, kUsedChunks, kUsedChunkCount);
    png_set_read_fn(png_, this, give_bytes);
    png_read_info(png_, info_);
    return true;
  }
  bool read_rows(png_bytep to, int64_t height, size_t row, bool colour) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_expand(png_);
    if (colour) png_set_gray_to_rgb(png_);
    // 16 bits are taken as 8 bits are: as sRGB, not as intensities of light.
    png_set_alpha_mode_fixed(png_, PNG_ALPHA_PNG, PNG_DEFAULT_sRGB);
    png_set_scale_16(png_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != row) png_error(png_, "its rows are of another size than its header says");
    for (int pass = 0; pass < passes; ++pass)
      for (int64_t y = 0; y < height; ++y) png_read_row(png_, to + size_t(y) * row, nullptr);
    return true;
  }

  const std::string& source_;
  std::string_view unread_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[128] = "out of memory";
};

ImageSize size_of_png(std::string_view bytes, const std::string& source) { return PngDecoder(bytes, source).header(); }

Tensor decode_png(std::string_view bytes, int channels, const std::string& source) {
  if (channels != 1 && channels != 3)
    fail(ErrorKind::config, source, ": an image has 1 or 3 channels, the net takes ", channels);
  PngDecoder decoder(bytes, source);
  const auto [height, width] = decoder.header();
  const int read = decoder.has_colour() ? 3 : channels;
  const bool transparent = decoder.has_transparency();
  Tensor pixels(DType::u8, {height, width, read + transparent});
  decoder.pixels(pixels);
  const Tensor out = transparent ? on_black(pixels) : pixels;
  return read == channels ? out : grey_of(out);
}

png_image header_to_write(const Tensor& image) {
  png_image out{};
  out.version = PNG_IMAGE_VERSION;
  out.height = png_uint_32(image.shape()[0]);
  out.width = png_uint_32(image.shape()[1]);
  out.format = image.shape()[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  return out;
}

}  // namespace

const ImageDecoder kPngDecoder = {size_of_png, decode_png};

std::string encode_png(const Tensor& image) {
  png_image written = header_to_write(image);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(written);
  std::string out(size, '\0');
  if (!png_image_write_to_memory(&written, out.data(), &size, 0, image.data(), 0, nullptr))
    fail(ErrorKind::failed, "an image of ", image.shape(), " cannot be made a PNG: ", written.message);
  out.resize(size);
  return out;
}

void write_png_file(const Tensor& image, const std::string& path) {
  png_image written = header_to_write(image);
  if (!png_image_write_to_file(&written, path.c_str(), 0, image.data(), 0, nullptr))
    fail(ErrorKind::failed, path, ": cannot be written: ", written.message);
}

}  // namespace neon
