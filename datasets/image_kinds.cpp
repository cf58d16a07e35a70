#include "datasets/image_kinds.h"

#include <array>

namespace neon {

std::span<const ImageKind> image_kinds() {
  static const std::array kinds = {kPngKind, kBmpKind, kGifKind, kTiffKind, kWebpKind};
  return kinds;
}

const ImageKind* image_kind_of(std::string_view bytes) {
  for (const ImageKind& kind : image_kinds())
    if (kind.matches(bytes)) return &kind;
  return nullptr;
}

void fail_missing_library(const std::string& source, const char* kind, const char* package) {
  fail(ErrorKind::data, source, ": is a ", kind, " image, and this neon was built without them; install ", package,
       " and build neon again, or convert the image to PNG");
}

}  // namespace neon
