#include "backends/cuda/tile_meetings.h"

#include <algorithm>
#include <limits>

namespace neon::cuda {

namespace {

int64_t remainder(int64_t a, int64_t b) { return (a % b + b) % b; }

}  // namespace

// Result i sees pixel i·stride + place·dilation - before: of plane `from`, the pixel i + row.
std::vector<TileMeeting> meetings_forward(const Windows& w) {
  std::vector<TileMeeting> out;
  for (int64_t r = 0; r < w.size[0]; ++r)
    for (int64_t s = 0; s < w.size[1]; ++s) {
      const int64_t a = r * w.dilation[0] - w.before[0], b = s * w.dilation[1] - w.before[1];
      const int64_t row = remainder(a, w.strides[0]), column = remainder(b, w.strides[1]);
      out.push_back({int(row * w.strides[1] + column), 0, (a - row) / w.strides[0], (b - column) / w.strides[1],
                     int(r * w.size[1] + s)});
    }
  return out;
}

// Pixel j·stride + first was seen by result (j·stride + first + before - place·dilation) / stride, where that is whole.
std::vector<TileMeeting> meetings_of_gradient(const Windows& w) {
  std::vector<TileMeeting> out;
  for (int to = 0; to < w.strides[0] * w.strides[1]; ++to)
    for (int64_t r = 0; r < w.size[0]; ++r)
      for (int64_t s = 0; s < w.size[1]; ++s) {
        const int64_t a = to / w.strides[1] + w.before[0] - r * w.dilation[0],
                      b = to % w.strides[1] + w.before[1] - s * w.dilation[1];
        if (remainder(a, w.strides[0]) || remainder(b, w.strides[1])) continue;
        out.push_back({0, to, a / w.strides[0], b / w.strides[1], int(r * w.size[1] + s)});
      }
  return out;
}

std::vector<Plane> planes_of(const Windows& w) {
  std::vector<Plane> out;
  for (int64_t row = 0; row < w.strides[0]; ++row)
    for (int64_t column = 0; column < w.strides[1]; ++column) out.push_back({row, column, w.strides[0], w.strides[1]});
  return out;
}

int tile_depth(int64_t channels) { return channels <= 16 ? 16 : channels <= 32 ? 32 : 64; }

bool fits_tiles(const LoweredKernel& kernel, const Graph& graph, const Shape& x, const Shape& y, const Shape& filters,
                int arch) {
  const DType dtype = graph.dtype(kernel.inputs[0]);
  if (arch != kTileArch || x.rank() != 4 || (dtype != DType::f16 && dtype != DType::bf16)) return false;
  if (graph.dtype(kernel.inputs[1]) != dtype || graph.dtype(kernel.outputs[0]) != dtype || kernel.addend())
    return false;
  if (kernel.attributes.integer("groups") != 1 || x.elements() == 0 || y.elements() == 0) return false;
  const int64_t places = filters[1] * filters[2];
  const Windows windows = windows_of(kernel.attributes, {filters[1], filters[2]});
  // Each plane has pixels, and there are few.
  if (windows.strides[0] > x[1] || windows.strides[1] > x[2]) return false;
  if (windows.strides[0] * windows.strides[1] > kMostPlanes) return false;
  if (x[3] % 8 || y[3] % 8 || x[0] < kLeastImages || places < 2 || places > kMostPlaces) return false;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (std::max({x.elements(), y.elements(), filters.elements()}) > kMost) return false;
  return 2.0 * double(y.elements()) * double(filters.elements() / filters[0]) >= kLeastWork;
}

}  // namespace neon::cuda
