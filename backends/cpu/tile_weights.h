// The weights of a recurrent cell in bf16 as tiles of AMX, whose products take 16 times the numbers of f32 at once.
#pragma once
#include "backends/cpu/amx.h"
#include "backends/elementwise/kernels.h"
#include "neon/core/tensor.h"

namespace neon::cpu {

struct StepSizes;
struct CellShare;

// What StepWeights is for f32, which says what arguments mean. Only where has_amx() says so.
class TileWeights {
 public:
  TileWeights(const StepSizes& sizes, int threads);
  // The panel that begins with a unit of a gate.
  void pack(const float* w, int64_t gate, int64_t unit);
  // From the share's first sample on. `a` is rounded to bf16.
  void multiply(const float* a, const CellShare& share, float* out) const;

 private:
  static constexpr int64_t kRows = 2 * kTileRows;  // of a that are multiplied at once
  static constexpr int64_t kBlock = 4 * kRows;     // that go through all weights, and stay in a thread's cache
  int64_t depth_tiles() const;
  int64_t panel_at(int64_t gate, int64_t unit) const;
  void make_tiles(const float* a, int64_t rows, bf16* line, bf16* tiles) const;
  void pack_tile(const float* w, int64_t gate, int64_t unit, int64_t d, bf16* to) const;
  void multiply_panel(const bf16* tiles, int64_t rows, int64_t gate, int64_t unit, float* out) const;

  const int64_t inner_, gates_, units_, padded_;
  const bool transposed_;
  const elementwise::ConvertFunction round_;
  Tensor packed_;           // a panel: (depth tiles, tiles of 16 units, 512)
  mutable Tensor rounded_;  // of each share: a row, and kBlock rows as tiles (kBlock / kRows, depth tiles, 2, 512)
};

}  // namespace neon::cpu
