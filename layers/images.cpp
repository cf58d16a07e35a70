#include "layers/images.h"

#include <cmath>

namespace neon {

int axes_of_space(Expr x, const char* layer) {
  const Shape& shape = x.shape();
  if (shape.rank() == 4 || shape.rank() == 5) return shape.rank() - 2;
  const Shape sample = shape.slice(1, shape.rank());
  const int64_t side = int64_t(std::lround(std::sqrt(double(sample.elements()))));
  std::string remedy = "put a Reshape to [channels, height, width] before it";
  if (sample.rank() == 2) remedy = text("put `Reshape: [1, ", sample[0], ", ", sample[1], "]` before it");
  else if (side * side == sample.elements()) remedy = text("put `Reshape: [1, ", side, ", ", side, "]` before it");
  fail(ErrorKind::config, layer, " takes images (C, H, W) or volumes (C, D, H, W), got samples ", sample, ": ", remedy);
}

std::vector<int64_t> space(Expr x) { return {x.shape().begin() + 1, x.shape().end() - 1}; }

void check_windows(Expr x, const Windows& windows, const char* what) {
  static constexpr const char* kSides[] = {"deep", "high", "wide"};
  const std::vector<int64_t> sizes = space(x);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const char* side = kSides[i + std::size(kSides) - sizes.size()];
    const int64_t extent = windows.extent(int(i)), padding = windows.before[i] + windows.after[i];
    if (extent <= sizes[i] + padding) continue;
    fail(ErrorKind::config, "a ", what, " ", extent, " ", side,
         windows.dilation[i] > 1 ? text(" (", windows.size[i], " with dilation ", windows.dilation[i], ")") : "",
         " does not fit in feature maps ", sizes[i], " ", side, padding ? text(" and padding of ", padding) : "",
         "; a smaller fshape or more padding would, or fewer poolings and strides before it");
  }
}

}  // namespace neon
