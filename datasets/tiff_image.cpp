// The first page of TIFF images, by libtiff 4.5 or newer (Debian: libtiff-dev).
#ifdef NEON_HAVE_TIFF
#include <tiffio.h>
#endif

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "datasets/exif.h"
#include "datasets/image_colours.h"
#include "datasets/image_kinds.h"
#include "datasets/image_part.h"

namespace neon {

namespace {

#ifdef NEON_HAVE_TIFF

// A file in memory, and the first error of the library.
struct TiffBytes {
  std::string_view all;
  uint64_t at = 0;
  std::string message;
};

TiffBytes& of_handle(thandle_t handle) { return *static_cast<TiffBytes*>(handle); }

tmsize_t give_tiff_bytes(thandle_t handle, void* to, tmsize_t count) {
  TiffBytes& file = of_handle(handle);
  const uint64_t left = file.all.size() - std::min<uint64_t>(file.at, file.all.size());
  const auto given = size_t(std::min<uint64_t>(left, uint64_t(std::max<tmsize_t>(count, 0))));
  if (given > 0) std::memcpy(to, file.all.data() + file.at, given);
  file.at += given;
  return tmsize_t(given);
}
tmsize_t take_no_bytes(thandle_t, void*, tmsize_t) { return 0; }
toff_t seek_tiff(thandle_t handle, toff_t offset, int from) {
  TiffBytes& file = of_handle(handle);
  file.at = offset + (from == SEEK_CUR ? file.at : from == SEEK_END ? file.all.size() : 0);
  return file.at;
}
int close_tiff(thandle_t) { return 0; }
toff_t tiff_bytes(thandle_t handle) { return of_handle(handle).all.size(); }
int map_no_tiff(thandle_t, void**, toff_t*) { return 0; }
void unmap_no_tiff(thandle_t, void*, toff_t) {}

int keep_tiff_error(TIFF*, void* file, const char*, const char* format, va_list values) {
  std::string& message = static_cast<TiffBytes*>(file)->message;
  char line[200];
  std::vsnprintf(line, sizeof line, format, values);
  if (message.empty()) message = line;
  return 1;
}
int ignore_tiff_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

class TiffDecoder {
 public:
  TiffDecoder(std::string_view bytes, const std::string& source) : source_(source), file_{bytes, 0, {}} {
    constexpr tmsize_t kMostAtOnce = tmsize_t(1) << 29;  // bytes: a strip of kMostPixels of 8 bytes
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                               TIFFOpenOptionsFree);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostAtOnce);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_tiff_error, &file_);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_tiff_warning, nullptr);
    tiff_.reset(TIFFClientOpenExt("image", "rm", &file_, give_tiff_bytes, take_no_bytes, seek_tiff, close_tiff,
                                  tiff_bytes, map_no_tiff, unmap_no_tiff, options.get()));
    if (!tiff_) fail_damaged();
    uint32_t width = 0, height = 0;
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height);
    stored_ = checked_size(width, height, source);
    uint16_t orientation = 1;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_ORIENTATION, &orientation);
    if (orientation >= 1 && orientation <= 8) orientation_ = orientation;
  }

  ImageSize size() const { return upright_size(stored_, orientation_); }

  // (H,W,3), upright
  Tensor pixels() {
    Tensor packed(DType::i32, {stored_.height, stored_.width});
    read_stored(static_cast<uint32_t*>(packed.data()));
    Tensor stored(DType::u8, {stored_.height, stored_.width, 3});
    const auto from = packed.as<int32_t>();
    const auto to = stored.as<uint8_t>();
    const bool clear_grey = has_grey_opacity();
    for (size_t i = 0; i < from.size(); ++i) {  // libtiff has laid transparent colours on black, and no greys
      const auto pixel = uint32_t(from[i]);
      const uint32_t opacity = clear_grey ? TIFFGetA(pixel) : 255;
      const auto on_black = [&](uint32_t value) { return uint8_t((value * opacity + 127) / 255); };
      to[3 * i] = on_black(TIFFGetR(pixel)), to[3 * i + 1] = on_black(TIFFGetG(pixel));
      to[3 * i + 2] = on_black(TIFFGetB(pixel));
    }
    if (orientation_ == 1) return stored;
    Tensor out(DType::u8, {size().height, size().width, 3});
    set_upright(stored.as<uint8_t>(), stored_, 3, orientation_, out.as<uint8_t>());
    return out;
  }

 private:
  struct Close {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };

  [[noreturn]] void fail_damaged() const {
    fail(ErrorKind::data, source_, ": no readable TIFF: ",
         file_.message.empty() ? "it is damaged, or of a kind that libtiff does not turn into colours" : file_.message);
  }

  // Whether pixels are a grey and an opacity that it is not multiplied with. libtiff reads none of 16 bits.
  bool has_grey_opacity() const {
    uint16_t samples = 1, bits = 1, extra = 0, *kinds = nullptr;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    const bool has = samples == 2 && extra == 1 && kinds[0] == EXTRASAMPLE_UNASSALPHA;
    if (has && bits != 8)
      fail(ErrorKind::data, source_, ": a grey TIFF of ", bits, " bits with opacity is not read; save it with 8 bits, ",
           "or without opacity");
    return has;
  }

  // Rows as they are stored: libtiff would flip, but not turn them.
  void read_stored(uint32_t* to) {
    char why[1024] = "";
    TIFFRGBAImage image;
    if (!TIFFRGBAImageOK(tiff_.get(), why) || !TIFFRGBAImageBegin(&image, tiff_.get(), 1, why)) {
      if (file_.message.empty()) file_.message = why;
      fail_damaged();
    }
    image.orientation = image.req_orientation = ORIENTATION_TOPLEFT;
    const bool read = TIFFRGBAImageGet(&image, to, uint32_t(stored_.width), uint32_t(stored_.height));
    TIFFRGBAImageEnd(&image);
    if (!read) fail_damaged();
  }

  const std::string& source_;
  TiffBytes file_;
  std::unique_ptr<TIFF, Close> tiff_;
  ImageSize stored_;
  int orientation_ = 1;
};

ImageSize tiff_size(std::string_view bytes, const std::string& source) { return TiffDecoder(bytes, source).size(); }
Tensor read_tiff(std::string_view bytes, int channels, const std::string& source) {
  return with_channels(TiffDecoder(bytes, source).pixels(), channels, source);
}

#else

ImageSize tiff_size(std::string_view, const std::string& source) {
  fail_missing_library(source, "TIFF", "libtiff-dev");
}
Tensor read_tiff(std::string_view, int, const std::string& source) {
  fail_missing_library(source, "TIFF", "libtiff-dev");
}

#endif

}  // namespace

const ImageDecoder kTiffDecoder = {tiff_size, read_tiff};

}  // namespace neon
