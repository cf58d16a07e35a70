#include "backends/cpu/tile_weights.h"

#include <cstring>

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
      rounded_(DType::bf16, {threads, (1 + kRows) * depth_tiles() * kTileDepth}) {}

int64_t TileWeights::depth_tiles() const { return divided_up(inner_, kTileDepth); }

int64_t TileWeights::panel_at(int64_t gate, int64_t unit) const {
  return (gate * padded_ + unit) * depth_tiles() * kTileDepth;
}

void TileWeights::pack(const float* w, int64_t gate, int64_t unit) {
  const int64_t tiles = std::min(kPanel, padded_ - unit) / kTileRows, columns = gates_ * units_;
  bf16* to = static_cast<bf16*>(packed_.data()) + panel_at(gate, unit);
  // Pairs of numbers in the order of depth lie together, those of 16 units beside one another.
  for (int64_t d = 0; d < depth_tiles() * kTileDepth; d += kTileDepth)
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (int64_t pair = 0; pair < kTileDepth; pair += 2)
        for (int64_t j = unit + tile * kTileRows; j < unit + (tile + 1) * kTileRows; ++j)
          for (int64_t k = d + pair; k < d + pair + 2; ++k) {
            const int64_t column = gate * units_ + j;
            const bool given = j < units_ && k < inner_;
            *to++ = given ? to_bf16(w[transposed_ ? column * inner_ + k : k * columns + column]) : bf16{};
          }
}

const bf16* TileWeights::tiles_of(const float* a, int64_t rows, bf16* room) const {
  const int64_t depth = depth_tiles() * kTileDepth;
  bf16 *const line = room, *const tiles = room + depth;
  std::fill(line + inner_, line + depth, bf16{});
  for (int64_t i = 0; i < kRows; ++i) {
    if (i < rows) round_(a + i * inner_, line, inner_);
    else if (i == rows) std::fill_n(line, depth, bf16{});
    for (int64_t d = 0; d < depth_tiles(); ++d)
      std::memcpy(tiles + (d * 2 + i / kTileRows) * kTile + i % kTileRows * kTileDepth, line + d * kTileDepth,
                  size_t(kTileDepth) * sizeof(bf16));
  }
  return tiles;
}

void TileWeights::multiply_panel(const bf16* tiles, int64_t rows, int64_t gate, int64_t unit, float* out) const {
  const int64_t columns = std::min(kPanel, padded_ - unit), across = columns / kTileRows,
                down = rows > kTileRows ? 2 : 1;
  alignas(64) float sums[4 * kTileSums];
  std::fill_n(sums, 4 * kTileSums, 0.0f);
  const TileProducts products{.rows = 1,
                              .steps = depth_tiles(),
                              .a = tiles,
                              .b = static_cast<const bf16*>(packed_.data()) + panel_at(gate, unit),
                              .a_row = 0,
                              .a_step = 2 * kTile,
                              .b_row = 0,
                              .b_step = across * kTile,
                              .sums = sums,
                              .m_stride = 2 * kTileSums};
  accumulate(products, down, across);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t tile = 0; tile < across; ++tile)
      std::memcpy(out + i * gates_ * padded_ + gate * padded_ + unit + tile * kTileRows,
                  sums + i / kTileRows * products.m_stride + tile * kTileSums + i % kTileRows * kTileRows,
                  size_t(kTileRows) * sizeof(float));
}

void TileWeights::multiply(const float* a, const CellShare& share, float* out) const {
  const AmxTiles of_this_thread;
  const int64_t first = share.first_unit, last = std::min(divided_up(first + share.units, kLane) * kLane, padded_);
  bf16* room = static_cast<bf16*>(rounded_.data()) + share.number * rounded_.shape()[1];
  for (int64_t row = 0; row < share.samples(); row += kRows) {
    const int64_t some = std::min(kRows, share.samples() - row);
    const bf16* tiles = tiles_of(a + row * inner_, some, room);
    for (int64_t gate = 0; gate < gates_; ++gate)
      for (int64_t unit = first; unit < last; unit += kPanel)
        multiply_panel(tiles, some, gate, unit, out + row * gates_ * padded_);
  }
}

}  // namespace neon::cpu
