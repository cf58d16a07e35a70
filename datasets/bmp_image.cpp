// BMP images: 1, 4, 8, 16, 24 and 32 bits a pixel, plain, with masks of bits, and with run lengths (RLE4, RLE8).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "datasets/image_colours.h"
#include "datasets/image_kinds.h"

namespace neon {

namespace {

// A text may begin with BM, but has no byte 0.
bool is_bmp(std::string_view bytes) {
  return bytes.size() >= 26 && bytes.starts_with("BM") && bytes[15] == 0 && bytes[16] == 0 && bytes[17] == 0;
}

// Ways in which the pixels are stored, by the numbers of the format.
enum BmpStorage : uint32_t { kPlain = 0, kRle8 = 1, kRle4 = 2, kMasks = 3, kMasksWithOpacity = 6 };

class BmpDecoder {
 public:
  BmpDecoder(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {
    const uint32_t header = number(14, 4);
    old_ = header == 12;
    if (!old_ && (header < 40 || header > 124)) damaged("its header is of an unknown kind");
    width_ = old_ ? int64_t(number(18, 2)) : int64_t(int32_t(number(18, 4)));
    height_ = old_ ? int64_t(number(20, 2)) : int64_t(int32_t(number(22, 4)));
    downwards_ = height_ < 0;
    if (downwards_) height_ = -height_;
    checked_size(width_, height_, source_);
    bits_ = number(old_ ? 24 : 28, 2);
    if (!old_) storage_ = number(30, 4);
    pixels_ = number(10, 4);
    after_header_ = 14 + size_t(header);
    const bool runs = (storage_ == kRle8 && bits_ == 8) || (storage_ == kRle4 && bits_ == 4);
    const bool masks = (storage_ == kMasks || storage_ == kMasksWithOpacity) && (bits_ == 16 || bits_ == 32);
    const bool plain = storage_ == kPlain && std::ranges::count(std::array{1, 4, 8, 16, 24, 32}, int(bits_));
    if ((!plain && !runs && !masks) || (runs && downwards_))
      damaged(text("pixels of ", bits_, " bits in the storage ", storage_, " are not read"));
    if (pixels_ > bytes_.size()) damaged("it ends before its pixels");
  }

  ImageSize size() const { return {height_, width_}; }

  // (H,W,3)
  Tensor image() {
    const bool deep = bits_ == 16 || bits_ == 32;
    if (deep) read_masks();
    else if (bits_ <= 8) read_palette();
    const size_t row = size_t((width_ * bits_ + 31) / 32 * 4);
    const bool runs = storage_ == kRle8 || storage_ == kRle4;
    if (!runs && (bytes_.size() - pixels_) / row < size_t(height_)) damaged("it ends before its last row");
    const bool transparent = deep && masks_[3].count > 0;
    const std::vector<uint8_t> indices = runs ? unpacked() : std::vector<uint8_t>();
    Tensor out(DType::u8, {height_, width_, transparent ? 4 : 3});
    auto* to = out.as<uint8_t>().data();
    for (int64_t y = 0; y < height_; ++y) {
      const auto stored = size_t(downwards_ ? y : height_ - 1 - y);
      for (int64_t x = 0; x < width_; ++x, to += transparent ? 4 : 3) {
        if (runs) set_colour(indices[stored * size_t(width_) + size_t(x)], to);
        else set_pixel(pixels_ + stored * row, x, transparent, to);
      }
    }
    return transparent ? on_black(out) : out;
  }

 private:
  struct Mask {
    uint32_t bits = 0;
    int first = 0, count = 0;
    // The bits of a pixel that are in the mask, as 0 to 255.
    uint8_t of(uint32_t pixel) const {
      if (count == 0) return 0;
      const uint64_t most = (uint64_t(1) << count) - 1;
      return uint8_t((((pixel & bits) >> first) * uint64_t(255) + most / 2) / most);
    }
  };

  [[noreturn]] void damaged(const std::string& why) const { fail(ErrorKind::data, source_, ": damaged BMP: ", why); }

  uint32_t number(size_t at, size_t size) const {
    if (at + size > bytes_.size()) damaged("it ends too early");
    uint32_t out = 0;
    for (size_t i = 0; i < size; ++i) out |= uint32_t(uint8_t(bytes_[at + i])) << (8 * i);
    return out;
  }

  void read_masks() {
    std::array<uint32_t, 4> bits = bits_ == 16 ? std::array<uint32_t, 4>{0x7c00, 0x3e0, 0x1f, 0}
                                               : std::array<uint32_t, 4>{0xff0000, 0xff00, 0xff, 0};
    // They stand behind a header of 40 bytes, or within a longer one.
    const bool opacity = storage_ == kMasksWithOpacity || after_header_ >= 14 + 56;
    for (size_t k = 0; storage_ != kPlain && k < (opacity ? 4u : 3u); ++k) bits[k] = number(14 + 40 + 4 * k, 4);
    for (size_t k = 0; k < 4; ++k) {
      const int first = std::countr_zero(bits[k]) % 32, count = std::popcount(bits[k]);
      if (count > 0 && uint64_t(bits[k]) >> first != (uint64_t(1) << count) - 1) damaged("a mask of bits has gaps");
      masks_[k] = {bits[k], first, count};
    }
  }

  void read_palette() {
    const size_t entry = old_ ? 3 : 4, most = size_t(1) << bits_;
    const size_t used = old_ ? 0 : number(46, 4), count = used == 0 ? most : used;
    if (count > most) damaged(text("its palette has ", count, " colours, at most ", most, " are possible"));
    for (size_t k = 0; k < count; ++k) {
      const uint32_t colour = number(after_header_ + k * entry, 3);
      palette_.push_back({uint8_t(colour >> 16), uint8_t(colour >> 8), uint8_t(colour)});
    }
  }

  void set_colour(size_t index, uint8_t* to) const {
    if (index >= palette_.size())
      damaged(text("a pixel has the colour ", index, ", its palette has ", palette_.size()));
    std::copy_n(palette_[index].begin(), 3, to);
  }

  void set_pixel(size_t row, int64_t x, bool transparent, uint8_t* to) const {
    const auto place = size_t(x);
    if (bits_ <= 8) {
      const size_t in_byte = 8 / bits_, shift = (in_byte - 1 - place % in_byte) * bits_;
      return set_colour(size_t(uint8_t(bytes_[row + place / in_byte])) >> shift & ((1u << bits_) - 1), to);
    }
    const uint32_t pixel = number(row + place * (bits_ / 8), bits_ / 8);
    if (bits_ == 24) to[0] = uint8_t(pixel >> 16), to[1] = uint8_t(pixel >> 8), to[2] = uint8_t(pixel);
    else
      for (size_t k = 0; k < (transparent ? 4u : 3u); ++k) to[k] = masks_[k].of(pixel);
  }

  // Indices of run lengths, rows from below; pixels that are passed over have the colour 0.
  std::vector<uint8_t> unpacked() const {
    std::vector<uint8_t> out(size_t(width_ * height_));
    int64_t x = 0, y = 0;
    const auto put = [&](int64_t count, auto index_at) {
      if (y >= height_ || x + count > width_) damaged("a run of pixels leads out of the image");
      for (int64_t i = 0; i < count; ++i) out[size_t(y * width_ + x++)] = index_at(i);
    };
    for (size_t at = pixels_;; at += 2) {
      const uint32_t count = number(at, 1), value = number(at + 1, 1);
      const bool nibbles = bits_ == 4;
      if (count > 0) {
        put(count, [&](int64_t i) { return uint8_t(nibbles ? value >> (i % 2 ? 0 : 4) & 15 : value); });
      } else if (value == 0) {
        x = 0, ++y;
      } else if (value == 1) {
        return out;
      } else if (value == 2) {
        x += number(at + 2, 1), y += number(at + 3, 1);
        if (x > width_ || y > height_) damaged("a run of pixels leads out of the image");
        at += 2;
      } else {
        put(value, [&](int64_t i) {
          const uint32_t byte = number(at + 2 + size_t(nibbles ? i / 2 : i), 1);
          return uint8_t(nibbles ? byte >> (i % 2 ? 0 : 4) & 15 : byte);
        });
        const size_t bytes = nibbles ? (value + 1) / 2 : value;
        at += bytes + bytes % 2;
      }
    }
  }

  const std::string_view bytes_;
  const std::string& source_;
  int64_t width_ = 0, height_ = 0;
  bool old_ = false, downwards_ = false;  // a header of 12 bytes; rows from above
  uint32_t bits_ = 0, storage_ = kPlain;
  size_t pixels_ = 0, after_header_ = 0;
  std::array<Mask, 4> masks_;
  std::vector<std::array<uint8_t, 3>> palette_;
};

ImageSize bmp_size(std::string_view bytes, const std::string& source) { return BmpDecoder(bytes, source).size(); }
Tensor read_bmp(std::string_view bytes, int channels, const std::string& source) {
  return with_channels(BmpDecoder(bytes, source).image(), channels, source);
}

}  // namespace

const ImageKind kBmpKind = {"BMP", {".bmp"}, is_bmp, bmp_size, read_bmp};

}  // namespace neon
