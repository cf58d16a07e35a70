// The kinds of image files beside JPEG, which is read at several scales: a table of their decoders.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "datasets/image_size.h"
#include "neon/core/tensor.h"

namespace neon {

struct ImageKind {
  const char* name;                         // "WebP", for messages
  std::array<std::string_view, 2> endings;  // ".tif", ".tiff"; the second may be ""
  bool (*matches)(std::string_view bytes);
  // From the header alone; (H, W, channels) u8, 1 channel grey, 3 RGB, transparency on black. Both throw a data error
  // that names `source` for a damaged file or more than kMostPixels.
  ImageSize (*size)(std::string_view bytes, const std::string& source);
  Tensor (*read)(std::string_view bytes, int channels, const std::string& source);
};

// All kinds that are known, also those whose library the build lacks: these are refused when they are read.
std::span<const ImageKind> image_kinds();
// The kind that the bytes are of; null for a JPEG, and for what is no image.
const ImageKind* image_kind_of(std::string_view bytes);

// The table's entries.
extern const ImageKind kPngKind, kBmpKind, kGifKind, kTiffKind, kWebpKind;

// The message for a kind whose library is missing.
[[noreturn]] void fail_missing_library(const std::string& source, const char* kind, const char* package);

}  // namespace neon
