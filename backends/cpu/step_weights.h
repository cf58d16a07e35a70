// The weights of a recurrent cell as the products of its steps want them: packed once, read at every step.
#pragma once
#include <mutex>
#include <optional>
#include <utility>

#include "backends/cpu/block_product.h"
#include "backends/cpu/cell_team.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/pair_weights.h"
#include "backends/cpu/tile_weights.h"
#include "neon/core/tensor.h"

namespace neon::cpu {

// Columns of a panel, of which blocks of products make two vectors of the widest registers; and their multiple.
constexpr int64_t kPanel = 32, kLane = elementwise::kWinogradChannels;

struct StepSizes {
  int64_t inner;         // K
  int64_t gates, units;  // the columns are gates · units; results have each gate's in a part of its own
  bool transposed;       // w is (gates units, K) instead of (K, gates units)
  int64_t columns() const { return gates * units; }
  int64_t padded() const { return divided_up(units, kLane) * kLane; }  // units of a gate, in results and panels
};

template <typename R>
class StepWeights {
 public:
  // With weights and states stored in bf16, `in_bf16`, products are those of AMX or AVX-512 BF16 where the processor
  // has them. Otherwise AMX multiplies three terms where shares, of at most `samples`, fill its tiles.
  StepWeights(const StepSizes& sizes, bool in_bf16, int64_t samples, int threads) : sizes_(sizes) {
    const bool full = samples >= kTileRows && std::min(sizes.inner, sizes.units) >= kTileDepth;  // tiles
    if (in_bf16 && has_amx()) tiles_.emplace(sizes, 1, threads);
    else if (std::is_same_v<R, float> && !in_bf16 && full && has_amx()) tiles_.emplace(sizes, 3, threads);
    else if (in_bf16 && has_bf16()) pairs_.emplace(sizes, samples, threads);
    else allocate();
  }

  // For the steps that follow, until the end of which w stays.
  void take(const R* w, int threads) {
    w_ = w, plain_ = false;
    if (tiles_) tiles_->begin();
    const int64_t panels = divided_up(sizes_.units, kPanel), all = sizes_.gates * panels;
#pragma omp parallel for num_threads(threads) schedule(static) if (all * kPanel * sizes_.inner > kElementsOfOneThread)
    for (int64_t i = 0; i < all; ++i) pack(i / panels, i % panels * kPanel);
  }

  // a (N,K) in rows without gaps -> the sums that a share has, in each part of out (N, gates padded()). Each is summed
  // in one order.
  void multiply(const R* a, const CellShare& share, R* out) const {
    a += share.first_sample * sizes_.inner, out += share.first_sample * row();
    if constexpr (std::is_same_v<R, float>) {
      if (tiles_ && tiles_->told() && tiles_->multiply(a, share, out)) return;
      if (tiles_) pack_plain();
      if (pairs_) return pairs_->multiply(a, share, out);
    }
    const int64_t padded = sizes_.padded(), first = share.first_unit,
                  last = std::min(divided_up(first + share.units, kLane) * kLane, padded);
    for (int64_t gate = 0; gate < sizes_.gates; ++gate)
      for (int64_t unit = first; unit < last; unit += kPanel) {
        const int64_t columns = std::min(kPanel, padded - unit);
        multiply_blocks({share.samples(), sizes_.inner, columns, sizes_.inner, 1, columns, row(), false}, a,
                        panel(gate, unit), out + gate * padded + unit);
      }
  }

  int64_t row() const { return sizes_.gates * sizes_.padded(); }  // numbers of a row of results

 private:
  R* data() const { return static_cast<R*>(const_cast<void*>(packed_.data())); }
  // The panel (K, its columns) that begins with a unit.
  R* panel(int64_t gate, int64_t unit) const { return data() + (gate * sizes_.padded() + unit) * sizes_.inner; }

  void allocate() const {
    if (packed_.empty()) packed_ = Tensor(dtype_of<R>(), {sizes_.inner * sizes_.gates * sizes_.padded()});
  }
  // All panels, by the first thread that meets a number which terms do not tell: one that is infinite or almost.
  void pack_plain() const {
    const std::lock_guard lock(packing_);
    if (std::exchange(plain_, true)) return;
    allocate();
    for (int64_t gate = 0; gate < sizes_.gates; ++gate)
      for (int64_t unit = 0; unit < sizes_.units; unit += kPanel) pack_panel(gate, unit);
  }
  void pack(int64_t gate, int64_t unit) {
    if constexpr (std::is_same_v<R, float>) {
      if (tiles_) return tiles_->pack(w_, gate, unit);
      if (pairs_) return pairs_->pack(w_, gate, unit);
    }
    pack_panel(gate, unit);
  }
  void pack_panel(int64_t gate, int64_t unit) const {
    const int64_t columns = std::min(kPanel, sizes_.padded() - unit), given = std::min(columns, sizes_.units - unit),
                  inner = sizes_.inner, first = gate * sizes_.units + unit;
    R* to = panel(gate, unit);
    if (given < columns) std::fill_n(to, inner * columns, R(0));
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t j = 0; j < given; ++j)
        to[k * columns + j] = w_[sizes_.transposed ? (first + j) * inner + k : k * sizes_.columns() + first + j];
  }

  const StepSizes sizes_;
  const R* w_ = nullptr;
  mutable Tensor packed_;
  mutable std::mutex packing_;
  mutable bool plain_ = false;        // packed_ has the panels, too, though tiles_ has them
  std::optional<TileWeights> tiles_;  // in place of packed_
  std::optional<PairWeights> pairs_;  // likewise
};

}  // namespace neon::cpu
