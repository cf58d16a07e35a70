// The first frame of GIF images, by giflib (Debian: libgif-dev).
#ifdef NEON_HAVE_GIF
#include <gif_lib.h>
#endif

#include <cstring>
#include <memory>
#include <vector>

#include "datasets/image_colours.h"
#include "datasets/image_kinds.h"
#include "datasets/image_part.h"

namespace neon {

namespace {

#ifdef NEON_HAVE_GIF

int give_gif_bytes(GifFileType* file, GifByteType* to, int count) {
  auto& unread = *static_cast<std::string_view*>(file->UserData);
  const size_t given = std::min(size_t(std::max(count, 0)), unread.size());
  std::memcpy(to, unread.data(), given);
  unread.remove_prefix(given);
  return int(given);
}

class GifDecoder {
 public:
  GifDecoder(std::string_view bytes, const std::string& source) : source_(source), unread_(bytes) {
    int error = 0;
    file_.reset(DGifOpen(&unread_, give_gif_bytes, &error));
    if (!file_) fail_for(error);
  }

  // The size of the canvas, or of the frame in files without a canvas.
  ImageSize size() {
    if (file_->SWidth == 0 || file_->SHeight == 0) {
      go_to_frame();
      return checked_size(file_->Image.Width, file_->Image.Height, source_);
    }
    return checked_size(file_->SWidth, file_->SHeight, source_);
  }

  // (H,W,3) on black
  Tensor frame() {
    const ImageSize canvas = size();
    if (!at_frame_) go_to_frame();
    const GifImageDesc& place = file_->Image;
    const bool whole = file_->SWidth == 0 || file_->SHeight == 0;
    const int64_t left = whole ? 0 : place.Left, top = whole ? 0 : place.Top;
    if (place.Width < 1 || place.Height < 1 || left < 0 || top < 0 || left + place.Width > canvas.width ||
        top + place.Height > canvas.height)
      fail(ErrorKind::data, source_, ": damaged GIF: its first frame does not lie in the image");
    Tensor out(DType::u8, {canvas.height, canvas.width, 3});
    std::memset(out.data(), 0, out.bytes());
    std::vector<GifPixelType> row(size_t(place.Width));
    for (const int64_t y : row_order(place)) {
      if (DGifGetLine(file_.get(), row.data(), place.Width) == GIF_ERROR) fail_for(file_->Error);
      auto* const to = out.as<uint8_t>().data() + 3 * ((top + y) * canvas.width + left);
      for (size_t x = 0; x < row.size(); ++x) set_pixel(row[x], to + 3 * x);
    }
    return out;
  }

 private:
  struct Close {
    void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
  };

  [[noreturn]] void fail_for(int error) const {
    const char* const reason = GifErrorString(error);
    fail(ErrorKind::data, source_, ": damaged GIF: ", reason ? reason : "it ends too early");
  }

  // Interlaced rows come in four passes.
  static std::vector<int64_t> row_order(const GifImageDesc& place) {
    std::vector<int64_t> out;
    if (!place.Interlace)
      for (int64_t y = 0; y < place.Height; ++y) out.push_back(y);
    constexpr std::pair<int64_t, int64_t> kPasses[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    for (const auto& [first, step] : kPasses)
      for (int64_t y = first; place.Interlace && y < place.Height; y += step) out.push_back(y);
    return out;
  }

  // Reads extensions, of which one names the transparent entry of the palette.
  void go_to_frame() {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    while (type != IMAGE_DESC_RECORD_TYPE) {
      if (DGifGetRecordType(file_.get(), &type) == GIF_ERROR) fail_for(file_->Error);
      if (type == TERMINATE_RECORD_TYPE) fail(ErrorKind::data, source_, ": damaged GIF: it has no frame");
      if (type == EXTENSION_RECORD_TYPE) read_extension();
    }
    if (DGifGetImageDesc(file_.get()) == GIF_ERROR) fail_for(file_->Error);
    at_frame_ = true;
    colours_ = file_->Image.ColorMap ? file_->Image.ColorMap : file_->SColorMap;
    if (!colours_) fail(ErrorKind::data, source_, ": damaged GIF: it has no colours");
  }

  void read_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    if (DGifGetExtension(file_.get(), &code, &block) == GIF_ERROR) fail_for(file_->Error);
    while (block) {
      GraphicsControlBlock control;
      if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
        transparent_ = control.TransparentColor;
      if (DGifGetExtensionNext(file_.get(), &block) == GIF_ERROR) fail_for(file_->Error);
    }
  }

  void set_pixel(int index, uint8_t* to) const {
    if (index == transparent_) return;
    if (index >= colours_->ColorCount)
      fail(ErrorKind::data, source_, ": damaged GIF: a pixel has the colour ", index, " of ", colours_->ColorCount);
    const GifColorType& colour = colours_->Colors[index];
    to[0] = colour.Red, to[1] = colour.Green, to[2] = colour.Blue;
  }

  const std::string& source_;
  std::string_view unread_;
  std::unique_ptr<GifFileType, Close> file_;
  const ColorMapObject* colours_ = nullptr;
  int transparent_ = NO_TRANSPARENT_COLOR;
  bool at_frame_ = false;
};

ImageSize gif_size(std::string_view bytes, const std::string& source) { return GifDecoder(bytes, source).size(); }
Tensor read_gif(std::string_view bytes, int channels, const std::string& source) {
  return with_channels(GifDecoder(bytes, source).frame(), channels, source);
}

#else

ImageSize gif_size(std::string_view, const std::string& source) { fail_missing_library(source, "GIF", "libgif-dev"); }
Tensor read_gif(std::string_view, int, const std::string& source) { fail_missing_library(source, "GIF", "libgif-dev"); }

#endif

}  // namespace

const ImageDecoder kGifDecoder = {gif_size, read_gif};

}  // namespace neon
