#include "backends/cpu/tile_weights.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/amx_tiles.h"
#include "backends/cpu/step_weights.h"

namespace neon::cpu {

TileWeights::TileWeights(const StepSizes& sizes, int64_t terms, int threads)
    : inner_(sizes.inner),
      gates_(sizes.gates),
      units_(sizes.units),
      padded_(sizes.padded()),
      terms_(terms),
      transposed_(sizes.transposed),
      packed_(DType::bf16, {gates_ * divided_up(units_, kPanel) * panel_size()}),
      rounded_(DType::bf16, {threads, kBlock / kRows * panel_size()}) {}

int64_t TileWeights::depth_tiles() const { return divided_up(inner_, kTileDepth); }

bf16* TileWeights::panel(int64_t gate, int64_t unit) const {
  return static_cast<bf16*>(packed_.data()) + (gate * divided_up(units_, kPanel) + unit / kPanel) * panel_size();
}

void TileWeights::pack(const float* w, int64_t gate, int64_t unit) {
  const int64_t row = gates_ * units_, end = std::min(unit + kPanel, units_);
  bool told = true;
  for (int64_t d = 0; d < inner_; d += kTileDepth)
    for (int64_t first = unit; first < end; first += kTileRows) {
      const int64_t units = std::min(kTileRows, end - first), depth = std::min(kTileDepth, inner_ - d),
                    column = gate * units_ + first;
      bf16* const to = panel(gate, unit) + d / kTileDepth * terms_ * 2 * kTile + (first - unit) / kTileRows * kTile;
      told &= transposed_ ? tile_of_rows(TilePart<float>{w + column * inner_ + d, inner_, units, depth}, true, to,
                                         2 * kTile, terms_)
                          : tile_of_columns(TilePart<float>{w + d * row + column, row, depth, units}, false, to,
                                            2 * kTile, terms_);
    }
  if (!told) told_ = false;
}

// At most kRows of them.
bool TileWeights::make_tiles(const float* a, int64_t rows, bf16* tiles) const {
  bool told = true;
  for (int64_t d = 0; d < inner_; d += kTileDepth, tiles += terms_ * 2 * kTile)
    for (int64_t i = 0; i < rows; i += kTileRows)
      told &= tile_of_rows(TilePart<float>{a + i * inner_ + d, inner_, rows - i, inner_ - d}, false,
                           tiles + i / kTileRows * kTile, 2 * kTile, terms_);
  return told;
}

void TileWeights::multiply_panel(const bf16* tiles, int64_t rows, int64_t gate, int64_t unit, float* out) const {
  const int64_t columns = std::min(kPanel, padded_ - unit), across = columns / kTileRows,
                down = rows > kTileRows ? 2 : 1, row = gates_ * padded_;
  TermProducts products{.terms = terms_,
                        .steps = depth_tiles(),
                        .a = tiles,
                        .b = panel(gate, unit),
                        .sums = out + gate * padded_ + unit,
                        .line = row,
                        .anew = true};
  if (rows == down * kTileRows) return accumulate_terms(products, down, across);
  // Rows behind the last are those of other threads.
  alignas(64) float sums[kRows * kPanel];
  float* const to = std::exchange(products.sums, sums);
  products.line = kPanel;
  accumulate_terms(products, down, across);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(sums + i * kPanel, columns, to + i * row);
}

bool TileWeights::multiply(const float* a, const CellShare& share, float* out) const {
  const AmxTiles of_this_thread;
  const int64_t first = share.first_unit, last = std::min(divided_up(first + share.units, kLane) * kLane, padded_),
                row = gates_ * padded_;
  bf16* const tiles = static_cast<bf16*>(rounded_.data()) + share.number * rounded_.shape()[1];
  bool told = true;
  for (int64_t block = 0; block < share.samples(); block += kBlock) {
    const int64_t end = std::min(block + kBlock, share.samples());
    for (int64_t i = block; i < end; i += kRows)
      told &= make_tiles(a + i * inner_, std::min(kRows, end - i), tiles + (i - block) / kRows * panel_size());
    for (int64_t gate = 0; gate < gates_; ++gate)
      for (int64_t unit = first; unit < last; unit += kPanel)
        for (int64_t i = block; i < end; i += kRows)
          multiply_panel(tiles + (i - block) / kRows * panel_size(), std::min(kRows, end - i), gate, unit,
                         out + i * row);
  }
  return told;
}

}  // namespace neon::cpu
