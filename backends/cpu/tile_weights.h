// The weights of a recurrent cell as tiles of AMX: in bf16, whose products take 16 times the numbers of f32 at once, or
// in f32, by three terms of bf16 for each number (amx_tiles.h).
#pragma once
#include <atomic>

#include "backends/cpu/amx.h"
#include "neon/core/tensor.h"

namespace neon::cpu {

struct StepSizes;
struct CellShare;

// What StepWeights is for f32, which says what arguments mean. Only where has_amx() says so.
class TileWeights {
 public:
  // `terms` is 1 or 3.
  TileWeights(const StepSizes& sizes, int64_t terms, int threads);
  // The panel that begins with a unit of a gate.
  void pack(const float* w, int64_t gate, int64_t unit);
  // Whether terms tell the weights packed since begin().
  void begin() { told_ = true; }
  bool told() const { return told_; }
  // From the share's first sample on. With one term `a` is rounded to bf16. False where terms do not tell a number of
  // `a`, and sums may be wrong.
  bool multiply(const float* a, const CellShare& share, float* out) const;

 private:
  static constexpr int64_t kRows = 2 * kTileRows;  // of a that are multiplied at once
  static constexpr int64_t kBlock = 4 * kRows;     // that go through all weights, and stay in a thread's cache
  int64_t depth_tiles() const;
  int64_t panel_size() const { return depth_tiles() * terms_ * 2 * kTile; }  // of kRows of a, too
  bf16* panel(int64_t gate, int64_t unit) const;
  bool make_tiles(const float* a, int64_t rows, bf16* tiles) const;
  void multiply_panel(const bf16* tiles, int64_t rows, int64_t gate, int64_t unit, float* out) const;

  const int64_t inner_, gates_, units_, padded_, terms_;
  const bool transposed_;
  mutable Tensor packed_;   // a panel: (depth tiles, terms, 2 tiles of 16 units, 512)
  mutable Tensor rounded_;  // of each share, kBlock rows as tiles: (kBlock / kRows, depth tiles, terms, 2, 512)
  std::atomic<bool> told_ = true;
};

}  // namespace neon::cpu
