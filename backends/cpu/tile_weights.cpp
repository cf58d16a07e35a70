#include "backends/cpu/tile_weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/step_weights.h"

namespace neon::cpu {

TileWeights::TileWeights(const StepSizes& sizes, int threads)
    : inner_(sizes.inner),
      gates_(sizes.gates),
      units_(sizes.units),
      padded_(sizes.padded()),
      transposed_(sizes.transposed),
      round_(elementwise::store_function(DType::f32, DType::bf16)),
      packed_(DType::bf16, {gates_ * padded_ * depth_tiles() * kTileDepth}),
      rounded_(DType::bf16, {threads, (1 + kBlock) * depth_tiles() * kTileDepth}) {}

int64_t TileWeights::depth_tiles() const { return divided_up(inner_, kTileDepth); }

int64_t TileWeights::panel_at(int64_t gate, int64_t unit) const {
  return (gate * padded_ + unit) * depth_tiles() * kTileDepth;
}

void TileWeights::pack(const float* w, int64_t gate, int64_t unit) {
  const int64_t tiles = std::min(kPanel, padded_ - unit) / kTileRows;
  bf16* to = static_cast<bf16*>(packed_.data()) + panel_at(gate, unit);
  for (int64_t d = 0; d < depth_tiles() * kTileDepth; d += kTileDepth)
    for (int64_t tile = 0; tile < tiles; ++tile, to += kTile) pack_tile(w, gate, unit + tile * kTileRows, d, to);
}

// Numbers d to d + 31 of 16 units: pairs of them lie together, those of the units beside one another.
void TileWeights::pack_tile(const float* w, int64_t gate, int64_t unit, int64_t d, bf16* to) const {
  const int64_t units = std::clamp<int64_t>(units_ - unit, 0, kTileRows), depth = std::min(kTileDepth, inner_ - d),
                column = gate * units_ + unit;
  alignas(64) bf16 rounded[kTile] = {};
  if (!transposed_) {
    for (int64_t k = 0; k < depth; ++k) round_(w + (d + k) * gates_ * units_ + column, rounded + k * kTileRows, units);
    return interleave_for_tiles(rounded, kTileRows, depth, kTileRows, to);
  }
  for (int64_t j = 0; j < units; ++j) round_(w + (column + j) * inner_ + d, rounded + j * kTileDepth, depth);
  for (int64_t pair = 0; pair < kTileDepth / 2; ++pair)
    for (int64_t j = 0; j < kTileRows; ++j)
      for (int64_t k = 0; k < 2; ++k) *to++ = rounded[j * kTileDepth + 2 * pair + k];
}

// kRows of them, zeros behind the last.
void TileWeights::make_tiles(const float* a, int64_t rows, bf16* line, bf16* tiles) const {
  const int64_t depth = depth_tiles() * kTileDepth;
  std::fill(line + inner_, line + depth, bf16{});
  for (int64_t i = 0; i < kRows; ++i) {
    if (i < rows) round_(a + i * inner_, line, inner_);
    else if (i == rows) std::fill_n(line, depth, bf16{});
    for (int64_t d = 0; d < depth_tiles(); ++d)
      std::memcpy(tiles + (d * 2 + i / kTileRows) * kTile + i % kTileRows * kTileDepth, line + d * kTileDepth,
                  size_t(kTileDepth) * sizeof(bf16));
  }
}

void TileWeights::multiply_panel(const bf16* tiles, int64_t rows, int64_t gate, int64_t unit, float* out) const {
  const int64_t columns = std::min(kPanel, padded_ - unit), across = columns / kTileRows,
                down = rows > kTileRows ? 2 : 1, row = gates_ * padded_;
  TileProducts products{.rows = 1,
                        .steps = depth_tiles(),
                        .a = tiles,
                        .b = static_cast<const bf16*>(packed_.data()) + panel_at(gate, unit),
                        .a_row = 0,
                        .a_step = 2 * kTile,
                        .b_row = 0,
                        .b_step = across * kTile,
                        .sums = out + gate * padded_ + unit,
                        .m_stride = kTileRows * row,
                        .k_stride = kTileRows,
                        .line = row,
                        .anew = true};
  if (rows == down * kTileRows) return accumulate(products, down, across);
  // Rows behind the last are those of other threads.
  alignas(64) float sums[kRows * kPanel];
  float* const to = std::exchange(products.sums, sums);
  products.m_stride = kTileRows * kPanel, products.line = kPanel;
  accumulate(products, down, across);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(sums + i * kPanel, columns, to + i * row);
}

void TileWeights::multiply(const float* a, const CellShare& share, float* out) const {
  const AmxTiles of_this_thread;
  const int64_t first = share.first_unit, last = std::min(divided_up(first + share.units, kLane) * kLane, padded_),
                depth = depth_tiles() * kTileDepth, row = gates_ * padded_;
  bf16 *const line = static_cast<bf16*>(rounded_.data()) + share.number * rounded_.shape()[1], *const tiles =
                                                                                                   line + depth;
  for (int64_t block = 0; block < share.samples(); block += kBlock) {
    const int64_t end = std::min(block + kBlock, share.samples());
    for (int64_t i = block; i < end; i += kRows)
      make_tiles(a + i * inner_, std::min(kRows, end - i), line, tiles + (i - block) * depth);
    for (int64_t gate = 0; gate < gates_; ++gate)
      for (int64_t unit = first; unit < last; unit += kPanel)
        for (int64_t i = block; i < end; i += kRows)
          multiply_panel(tiles + (i - block) * depth, std::min(kRows, end - i), gate, unit, out + i * row);
  }
}

}  // namespace neon::cpu
