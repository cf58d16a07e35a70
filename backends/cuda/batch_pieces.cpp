#include "backends/cuda/batch_pieces.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "neon/core/error.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();
constexpr size_t kAlignment = 16;  // bytes

int64_t rounded_up(int64_t number, int64_t step) { return (number + step - 1) / step * step; }

}  // namespace

std::vector<BatchPiece> batch_pieces(const TensorType& x, const TensorType& y, size_t most_bytes) {
  const int64_t batch = x.shape[0];
  NEON_ASSERT(batch > 0 && y.shape[0] == batch);
  const size_t x_bytes = x.bytes() / size_t(batch), y_bytes = y.bytes() / size_t(batch);  // of an image
  const int64_t elements = std::max(x.shape.elements(), y.shape.elements()) / batch;
  const int64_t fitting = std::min(kMostElements / elements, int64_t(most_bytes / (x_bytes + y_bytes)));
  if (fitting >= batch) return {{0, batch}};
  const auto step = int64_t(kAlignment / std::gcd(kAlignment, std::gcd(x_bytes, y_bytes)));
  const int64_t most = std::max(fitting / step * step, step), count = (batch + most - 1) / most;
  const int64_t images = rounded_up((batch + count - 1) / count, step);
  std::vector<BatchPiece> out;
  for (int64_t first = 0; first < batch; first += images) out.push_back({first, std::min(images, batch - first)});
  return out;
}

}  // namespace neon::cuda
