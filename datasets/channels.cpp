#include "datasets/channels.h"

#include "neon/core/error.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

template <typename T>
void turn(const T* from, T* to, int64_t images, int64_t channels, int64_t places) {
#pragma omp parallel for num_threads(available_threads())
  for (int64_t n = 0; n < images; ++n)
    for (int64_t i = 0; i < places; ++i)
      for (int64_t c = 0; c < channels; ++c)
        to[(n * places + i) * channels + c] = from[(n * channels + c) * places + i];
}

}  // namespace

Tensor with_channels_last(const Tensor& x) {
  const Shape& shape = x.shape();
  NEON_ASSERT(shape.rank() == 4);
  const Shape turned{shape[0], shape[2], shape[3], shape[1]};
  if (shape[1] == 1 || shape[2] * shape[3] == 1) return x.reshaped(turned);
  Tensor out(x.dtype(), turned);
  dispatch(x.dtype(), [&]<typename T>() {
    turn(static_cast<const T*>(x.data()), static_cast<T*>(out.data()), shape[0], shape[1], shape[2] * shape[3]);
  });
  return out;
}

}  // namespace neon
