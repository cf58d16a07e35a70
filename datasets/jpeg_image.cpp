// JPEG images, by libjpeg (Debian: libjpeg-dev), and the table of the module.
#include "datasets/jpeg_image.h"

#include <cstdio>
// After cstdio, which they need.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "datasets/image_colours.h"
#include "datasets/image_part.h"

namespace neon {

namespace {

// A few bytes can hold scans of a large image without end; files of the world have 10 or so.
constexpr int kMostScans = 500;
// libjpeg-turbo writes lines that begin at a multiple of 16 or 32 bytes past the cache, in pieces. So an image of 32 x
// 32 pixels took 20 us instead of 11. Lines are decoded to where none begins, and copied to their place.
constexpr size_t kUnevenPlace = 8, kApart = 32;
constexpr size_t kLinesAtOnce = 4;  // of which the library gives two a call where colours have half the height
constexpr int64_t kMargin = 2;      // columns for each of colours of half the size, which are interpolated between two

constexpr int kInks = 4;  // colours of a JPEG for print: cyan, magenta, yellow, black

// Such files have 255 for no ink, as Adobe's programs write them. So the product of an ink and black is a colour.
void put_inks(const JSAMPLE* inks, size_t width, size_t channels, uint8_t* to) {
  for (size_t x = 0; x < width; ++x, inks += kInks, to += channels) {
    const auto colour = [&](int c) { return uint8_t((unsigned(inks[c]) * inks[3] + 127) / 255); };
    const uint8_t rgb[3] = {colour(0), colour(1), colour(2)};
    if (channels == 3) std::memcpy(to, rgb, 3);
    else *to = grey_of(rgb[0], rgb[1], rgb[2]);
  }
}

// libjpeg, which reports errors by longjmp: no function between setjmp and the library may own anything.
class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& source) : source_(source) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = [](j_common_ptr info) {
      auto* errors = reinterpret_cast<Errors*>(info->err);
      info->err->format_message(info, errors->message);
      std::longjmp(errors->escape, 1);
    };
    errors_.base.emit_message = note_warning;
    monitor_.progress_monitor = [](j_common_ptr info) {
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) ERREXIT(info, JERR_BAD_PROGRESSION);
    };
    if (setjmp(errors_.escape)) return;  // no memory: the next call says so
    jpeg_create_decompress(&info_);
    info_.progress = &monitor_;
    errors_.file = reinterpret_cast<const JOCTET*>(bytes.data());
    jpeg_mem_src(&info_, errors_.file, bytes.size());
    made_ = true;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void header() {
    if (!made_ || !read_header()) stop("no readable JPEG");
    const int64_t height = info_.image_height, width = info_.image_width;
    if (height * width > kMostPixels)
      fail(ErrorKind::data, source_, ": ", width, " x ", height, " pixels are more than ", kMostPixels);
  }

  // The size of the pixels to come.
  ImageSize begin(int channels, int64_t denominator) {
    channels_ = size_t(channels);
    inks_ = info_.num_components == kInks;
    info_.out_color_space = inks_ ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info_.scale_denom = unsigned(denominator);
    errors_.in_pixels = true;
    if (!start()) stop("no readable JPEG");
    return {int64_t(info_.output_height), int64_t(info_.output_width)};
  }
  // Decodes those columns only, and some about them: colours are interpolated between neighbours.
  Columns keep(const Columns& wanted) {
    // Cropped and smaller, such colours come out of place.
    if (info_.max_h_samp_factor * info_.max_v_samp_factor > 4) return {0, int64_t(info_.output_width)};
    const int64_t width = info_.output_width, first = std::max<int64_t>(0, wanted.first - kMargin);
    JDIMENSION offset = JDIMENSION(first);
    JDIMENSION count = JDIMENSION(std::min(width, wanted.first + wanted.count + kMargin) - first);
    if (!crop(offset, count)) stop("no readable JPEG");
    return {int64_t(offset), int64_t(info_.output_width)};
  }
  void pixels(uint8_t* to) {
    if (!read_rows(to) || errors_.damaged) stop("damaged JPEG");
  }

  void pixels(Resizer& resizer) {
    if (!(inks_ ? read_inks(resizer) : read_rows(resizer)) || errors_.damaged) stop("damaged JPEG");
  }

  ImageSize size() const { return {int64_t(info_.image_height), int64_t(info_.image_width)}; }

 private:
  struct Errors {
    jpeg_error_mgr base;
    std::jmp_buf escape;
    char message[JMSG_LENGTH_MAX] = "";
    bool damaged = false;    // a warning was of the pixels
    bool in_pixels = false;  // behind the first scan's header
    const JOCTET* file = nullptr;
  };

  // The warnings left out here do not change the pixels.
  static void note_warning(j_common_ptr common, int level) {
    auto* info = reinterpret_cast<j_decompress_ptr>(common);
    auto* errors = reinterpret_cast<Errors*>(common->err);
    const int code = common->err->msg_code;
    const bool harmless = code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
                          (code == JWRN_EXTRANEOUS_DATA && (!errors->in_pixels || is_padding(*info)));
    if (level >= 0 || harmless || errors->damaged) return;
    common->err->format_message(common, errors->message);
    errors->damaged = true;
  }
  // Bytes left over within the pixels are those of a scan that went astray, unless they are zeros, as some programs
  // write at its end. They lie before what is read next.
  static bool is_padding(const jpeg_decompress_struct& info) {
    const JOCTET* const next = info.src->next_input_byte;
    const auto* const errors = reinterpret_cast<const Errors*>(info.err);
    const auto count = ptrdiff_t(info.err->msg_parm.i[0]);
    return count <= next - errors->file && std::all_of(next - count, next, [](JOCTET byte) { return byte == 0; });
  }

  bool read_header() {
    if (setjmp(errors_.escape)) return false;
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool start() {
    if (setjmp(errors_.escape)) return false;
    jpeg_start_decompress(&info_);
    return true;
  }
  bool crop(JDIMENSION& offset, JDIMENSION& count) {
    if (setjmp(errors_.escape)) return false;
    jpeg_crop_scanline(&info_, &offset, &count);
    return true;
  }
  // Room for some decoded lines.
  void make_lines(JSAMPROW (&rows)[kLinesAtOnce]) {
    const size_t row = size_t(info_.output_width) * size_t(info_.output_components);
    const size_t apart = (row + kApart - 1) / kApart * kApart;
    lines_.resize(kUnevenPlace + kLinesAtOnce * apart);
    for (size_t k = 0; k < kLinesAtOnce; ++k) rows[k] = lines_.data() + kUnevenPlace + k * apart;
  }
  void put_line(const JSAMPLE* from, uint8_t* to) const {
    if (inks_) put_inks(from, info_.output_width, channels_, to);
    else std::memcpy(to, from, info_.output_width * channels_);
  }
  bool read_rows(uint8_t* to) {
    const size_t row = size_t(info_.output_width) * channels_;
    JSAMPROW rows[kLinesAtOnce];
    make_lines(rows);
    if (setjmp(errors_.escape)) return false;
    while (info_.output_scanline < info_.output_height) {
      uint8_t* at = to + info_.output_scanline * row;
      const JDIMENSION count = jpeg_read_scanlines(&info_, rows, kLinesAtOnce);
      for (JDIMENSION k = 0; k < count; ++k, at += row) put_line(rows[k], at);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  bool read_inks(Resizer& resizer) {
    JSAMPROW rows[kLinesAtOnce];
    make_lines(rows);
    if (setjmp(errors_.escape)) return false;
    while (info_.output_scanline < info_.output_height) {
      const int wanted = int(std::min<JDIMENSION>(Resizer::kAtOnce, info_.output_height - info_.output_scanline));
      for (int got = 0; got < wanted;) {
        const auto most = JDIMENSION(std::min<int>(kLinesAtOnce, wanted - got));
        const JDIMENSION count = jpeg_read_scanlines(&info_, rows, most);
        for (JDIMENSION k = 0; k < count; ++k) put_line(rows[k], resizer.line(got++));
      }
      resizer.add(wanted);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  bool read_rows(Resizer& resizer) {
    if (setjmp(errors_.escape)) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW rows[Resizer::kAtOnce];
      for (int k = 0; k < Resizer::kAtOnce; ++k) rows[k] = resizer.line(k);
      const JDIMENSION count = std::min<JDIMENSION>(Resizer::kAtOnce, info_.output_height - info_.output_scanline);
      for (JDIMENSION got = 0; got < count;) got += jpeg_read_scanlines(&info_, rows + got, count - got);
      resizer.add(int(count));
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  [[noreturn]] void stop(const char* what) const { fail(ErrorKind::data, source_, ": ", what, ": ", errors_.message); }

  const std::string& source_;
  Errors errors_;
  jpeg_progress_mgr monitor_{};
  jpeg_decompress_struct info_{};
  bool made_ = false, inks_ = false;
  size_t channels_ = 3;  // of the pixels to come
  std::vector<uint8_t> lines_;
};

ImageSize size_of_jpeg(std::string_view bytes, const std::string& source) {
  Decoder decoder(bytes, source);
  decoder.header();
  return decoder.size();
}

Tensor decode_jpeg(std::string_view bytes, int channels, int64_t denominator, const std::string& source) {
  Decoder decoder(bytes, source);
  decoder.header();
  const ImageSize size = decoder.begin(channels, denominator);
  Tensor out(DType::u8, {size.height, size.width, channels});
  decoder.pixels(static_cast<uint8_t*>(out.data()));
  return out;
}

ImageSize decode_jpeg_to(std::string_view bytes, int channels, const SampleSize& middle, const std::string& source,
                         const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer) {
  Decoder decoder(bytes, source);
  decoder.header();
  const int64_t denominator = jpeg_denominator(decoder.size(), middle);
  const ImageSize size = decoder.begin(channels, denominator);
  if (size == wanted) decoder.pixels(to.data());
  if (size == wanted || !middle.given()) return size;
  resizer.plan(decoder.size(), channels, middle, denominator);
  resizer.begin(decoder.keep(resizer.needed()), to);
  decoder.pixels(resizer);
  return wanted;
}

const PartRegistration<ImagePart> image_part({.png = kPngDecoder,
                                              .gif = kGifDecoder,
                                              .tiff = kTiffDecoder,
                                              .webp = kWebpDecoder,
                                              .png_bytes = encode_png,
                                              .write_png = write_png_file,
                                              .jpeg_size = size_of_jpeg,
                                              .read_jpeg = decode_jpeg,
                                              .read_jpeg_to = decode_jpeg_to},
                                             NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
