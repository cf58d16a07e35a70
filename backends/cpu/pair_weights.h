// The weights of a recurrent cell in bf16 as pairs, whose products take twice the numbers of f32 at once.
#pragma once
#include "backends/elementwise/kernels.h"
#include "neon/core/tensor.h"

namespace neon::cpu {

struct StepSizes;
struct CellShare;

// What StepWeights is for f32, which says what arguments mean. Only where has_bf16() says so.
class PairWeights {
 public:
  // A share has at most `samples`; one thread alone may have those of all `threads` shares.
  PairWeights(const StepSizes& sizes, int64_t samples, int threads);
  // The panel that begins with a unit of a gate.
  void pack(const float* w, int64_t gate, int64_t unit);
  // From the share's first sample on. `a` is rounded to bf16.
  void multiply(const float* a, const CellShare& share, float* out) const;

 private:
  bf16* panel(int64_t gate, int64_t unit) const;
  const bf16* rounded(const float* a, const CellShare& share) const;

  const int64_t inner_, gates_, units_, padded_, pairs_;
  const bool transposed_;
  const elementwise::ConvertFunction round_;
  Tensor packed_;           // a panel: (pairs, its columns, 2)
  mutable Tensor rounded_;  // of each share: (samples, pairs, 2)
};

}  // namespace neon::cpu
