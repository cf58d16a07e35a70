#include "backends/cpu/winograd.h"

#include <algorithm>

namespace neon::cpu {

namespace {

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Pointers to side x side pixels from (line, column) on of an image (lines, columns, channels).
template <typename T>
void point_to(T* image, const Shape& shape, int64_t line, int64_t column, int64_t side, T* outside, T** pixels) {
  const int64_t lines = shape[1], columns = shape[2], channels = shape[3];
  for (int64_t i = 0; i < side; ++i) {
    const int64_t h = line + i;
    T* const row = image + h * columns * channels;
    for (int64_t j = 0; j < side; ++j) {
      const int64_t w = column + j;
      const bool inside = h >= 0 && h < lines && w >= 0 && w < columns;
      pixels[i * side + j] = inside ? row + w * channels : outside;
    }
  }
}

}  // namespace

WinogradTiles::WinogradTiles(const Shape& x, const Shape& y, const Windows& windows)
    : x_(x),
      y_(y),
      side_(kWinogradSide + 1 - windows.size[0]),
      before_{windows.before[0], windows.before[1]},
      down_(divided_up(y[1], side_)),
      across_(divided_up(y[2], side_)) {}

WinogradTiles::Corner WinogradTiles::corner(int64_t tile) const {
  const int64_t within = tile % (down_ * across_);
  return {tile / (down_ * across_), within / across_ * side_, within % across_ * side_};
}

void WinogradTiles::patch(int64_t tile, const float* x, const float* outside, const float** pixels) const {
  const Corner at = corner(tile);
  point_to(x + at.image * x_[1] * x_[2] * x_[3], x_, at.line - before_[0], at.column - before_[1], kWinogradSide,
           outside, pixels);
}

template <typename T>
void WinogradTiles::outputs(int64_t tile, T* y, T* outside, T** pixels) const {
  const Corner at = corner(tile);
  point_to(y + at.image * y_[1] * y_[2] * y_[3], y_, at.line, at.column, side_, outside, pixels);
}
template void WinogradTiles::outputs(int64_t, float*, float*, float**) const;
template void WinogradTiles::outputs(int64_t, const float*, const float*, const float**) const;

bool suits_winograd(const Windows& windows, int64_t groups, const Shape& x, const Shape& w, const Shape& y) {
  if (windows.axes() != 2 || groups != 1 || windows.size[0] != windows.size[1]) return false;
  const int64_t size = windows.size[0];
  if (size != 3 && size != 5) return false;
  for (int axis = 0; axis < 2; ++axis)
    if (windows.strides[size_t(axis)] != 1 || windows.dilation[size_t(axis)] != 1) return false;
  if (w[0] % kWinogradChannels || w[3] % kWinogradChannels || x.elements() == 0 || y.elements() == 0) return false;
  constexpr int64_t kLeastTiles = 96;  // filters are brought to their places for all of them
  const int64_t tiles = WinogradTiles(x, y, windows).count();
  // Products that adding up directly takes for one of these.
  constexpr double kLeastGain = 1.6;
  return tiles >= kLeastTiles &&
         double(y.elements() / y[3] * size * size) >= kLeastGain * double(tiles * kWinogradPlaces);
}

}  // namespace neon::cpu
