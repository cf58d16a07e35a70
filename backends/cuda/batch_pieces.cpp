#include "backends/cuda/batch_pieces.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backends/cuda/code_text.h"
#include "neon/core/error.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();
constexpr size_t kAlignment = 16;  // bytes

// Equal pieces of multiples of `step` images where there need not be twice as many for that, else the last is smaller.
int64_t images_of_piece(int64_t batch, int64_t most, int64_t step) {
  const int64_t count = quotient_up(batch, most);
  for (int64_t more = count; more < 2 * count; ++more)
    if (batch % (more * step) == 0) return batch / more;
  return quotient_up(quotient_up(batch, count), step) * step;
}

}  // namespace

std::vector<BatchPiece> batch_pieces(const TensorType& x, const TensorType& y, size_t most_bytes) {
  const int64_t batch = x.shape[0];
  NEON_ASSERT(batch > 0 && y.shape[0] == batch);
  const size_t x_bytes = x.bytes() / size_t(batch), y_bytes = y.bytes() / size_t(batch);  // of an image
  const int64_t elements = std::max(x.shape.elements(), y.shape.elements()) / batch;
  const int64_t fitting = std::min(kMostElements / elements, int64_t(most_bytes / (x_bytes + y_bytes)));
  if (fitting >= batch) return {{0, batch}};
  const auto step = int64_t(kAlignment / std::gcd(kAlignment, std::gcd(x_bytes, y_bytes)));
  const int64_t images = images_of_piece(batch, std::max(fitting / step * step, step), step);
  std::vector<BatchPiece> out;
  for (int64_t first = 0; first < batch; first += images) out.push_back({first, std::min(images, batch - first)});
  return out;
}

}  // namespace neon::cuda
