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
  for (int64_t o = 0; o < Shape(outputs).elements(); ++o) {
    const auto output = unravel(o, outputs);
    for (int64_t p = 0; p < Shape(windows.size).elements(); ++p) {
      const auto place = unravel(p, windows.size);
      int64_t element = 0;
      bool inside = true;
      for (size_t i = 0; i < input.size(); ++i) {
        const int64_t at = output[i] * windows.strides[i] - windows.before[i] + place[i] * windows.dilation[i];
        inside = inside && at >= 0 && at < input[i];
        element = element * input[i] + at;
      }
      if (inside) visit(o, p, element);
    }
  }
}

}  // namespace neon::cpu
