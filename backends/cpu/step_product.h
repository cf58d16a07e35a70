// The product of every step of a recurrent cell: the same weights T times, packed once for all of them.
#pragma once
#include <memory>

#include "backends/cpu/kernel.h"

namespace neon::cpu {

template <typename R>
class StepProduct {
 public:
  virtual ~StepProduct() = default;
  // For the steps that follow: w (K,M), or with `transposed` (M,K).
  virtual void take(const R* w) = 0;
  // a (N,K) · w -> out (N,M), all in rows without gaps
  virtual void multiply(const R* a, R* out) = 0;
};

struct StepSizes {
  int64_t rows, inner, columns;  // N, K, M
  bool transposed;
};

// oneDNN multiplies f32, loops of our own f64. Each result is summed in one order.
template <typename R>
std::unique_ptr<StepProduct<R>> make_step_product(const StepSizes& sizes, int threads);

}  // namespace neon::cpu
