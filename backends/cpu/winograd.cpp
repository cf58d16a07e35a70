#include "backends/cpu/winograd.h"

#include "backends/cpu/amx.h"

namespace neon::cpu {

namespace {

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

TileBlocks::TileBlocks(int64_t tiles, int64_t channels, int64_t bytes_met, int threads) : tiles(tiles) {
  constexpr int64_t kBytesOfSet = 768 << 10, kMostBytesMet = 1280 << 10;  // about a core's second cache each
  constexpr int64_t kFewest = 32, kMost = 168, kShared = 256;
  shared = bytes_met > kMostBytesMet || tiles < 2 * threads * kFewest;
  sets = shared ? 1 : threads;
  together = std::min(kShared, tiles);
  if (shared) return;
  const int64_t fit = std::clamp(kBytesOfSet / (4 * kWinogradPlaces * channels), kFewest, kMost),
                blocks = divided_up(divided_up(tiles, fit), threads) * threads;
  together = divided_up(tiles, blocks);
}

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

namespace {

// The number of pixels that all outputs along an axis see, without padding: the products of the sums over that axis.
int64_t pairs(const Windows& windows, int axis, int64_t length, int64_t outputs) {
  const int64_t before = windows.before[size_t(axis)], size = windows.size[size_t(axis)];
  int64_t out = 0;
  for (int64_t i = 0; i < outputs; ++i)
    out += std::max<int64_t>(0, std::min(i - before + size, length) - std::max<int64_t>(i - before, 0));
  return out;
}

}  // namespace

bool computes_in_f32(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || (dtype == DType::bf16 && !has_bf16());
}

bool suits_winograd(const Windows& windows, int64_t groups, const Shape& x, const Shape& w, const Shape& y,
                    double least_saved) {
  if (windows.axes() != 2 || groups != 1 || windows.size[0] != windows.size[1]) return false;
  if (windows.size[0] != 3 && windows.size[0] != 5) return false;
  for (size_t axis : {0, 1})
    if (windows.strides[axis] != 1 || windows.dilation[axis] != 1) return false;
  if (w[0] % kWinogradChannels || w[3] % kWinogradChannels || x.elements() == 0 || y.elements() == 0) return false;
  constexpr int64_t kLeastTiles = 96;  // filters are brought to their places for all of them
  constexpr double kLeastGain = 1.9;   // with 1.8 they took 1.5 times as long forward
  const int64_t tiles = WinogradTiles(x, y, windows).count(), products = kWinogradPlaces * tiles,
                of_sums = y[0] * pairs(windows, 0, x[1], y[1]) * pairs(windows, 1, x[2], y[2]);
  if (tiles < kLeastTiles || double(of_sums) < kLeastGain * double(products)) return false;
  const double saved = double(of_sums - products) / double(tiles) * double(w[0] * w[3]);
  return saved >= least_saved * double(w[0] + w[3]);
}

}  // namespace neon::cpu
