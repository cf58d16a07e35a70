// Which elements of an array the windows see, one by one: what the plain kernels of convolution and pooling loop over.
#pragma once
#include "backends/graph/windows.h"

namespace neon::cpu {

// Row-major index `flat` of an array of `sizes`, axis by axis.
inline std::vector<int64_t> unravel(int64_t flat, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> out(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; flat /= sizes[axis]) out[axis] = flat % sizes[axis];
  return out;
}

// Calls visit(output, place, element) for every place of every window that is not padding: row-major indices of the
// output, of the place in its window, and of the element in the input.
template <typename Visit>
void each_place(const Windows& windows, const std::vector<int64_t>& input, Visit&& visit) {
  const std::vector<int64_t> outputs = windows.outputs(input);
  const int64_t output_count = Shape(outputs).elements();
  std::vector<std::vector<int64_t>> places(size_t(Shape(windows.size).elements()));
  for (size_t p = 0; p < places.size(); ++p) places[p] = unravel(int64_t(p), windows.size);
  for (int64_t o = 0; o < output_count; ++o) {
    const auto output = unravel(o, outputs);
    for (size_t p = 0; p < places.size(); ++p) {
      const auto& place = places[p];
      int64_t element = 0;
      bool inside = true;
      for (size_t i = 0; i < input.size(); ++i) {
        const int64_t at = output[i] * windows.strides[i] - windows.before[i] + place[i] * windows.dilation[i];
        inside = inside && at >= 0 && at < input[i];
        element = element * input[i] + at;
      }
      if (inside) visit(o, int64_t(p), element);
    }
  }
}

}  // namespace neon::cpu
