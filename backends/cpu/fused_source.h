// Brings a tile's numbers in: loads, indices and draws. One object a thread.
#pragma once
#include <algorithm>

#include "backends/cpu/fused_place.h"

namespace neon::cpu {

// The numbers of elements first .. first + n - 1.
template <typename R>
void draw(const RegisterPlan<R>& reg, const Run& run, int64_t first, R* to, int64_t n) {
  const elementwise::Random& random = *elementwise::active_level().random;
  const elementwise::RandomKey key{reg.seed, reg.stream, run.step};
  while (n > 0) {
    const int64_t count = std::min(n, reg.drawn.run_from(first));
    if constexpr (std::is_same_v<R, float>) random.uniform_f32(key, reg.drawn.of(first), to, count);
    else random.uniform_f64(key, reg.drawn.of(first), to, count);
    first += count, to += count, n -= count;
  }
}

template <typename R>
class TileSource {
 public:
  TileSource(const SegmentPlan<R>& plan, const TilePlace<R>& at) : plan_(plan), at_(at) {}

  // The row that the next tile looks up lies anywhere in memory: the cache fetches it while the thread works on this
  // tile.
  void fetch_ahead(const LoadPlan& load) const {
    const int64_t next = at_.row + at_.rows;
    if (next >= plan_.rows || !load.columns_dense) return;
    const std::byte* from = load.address(row_offset(load, next));
    for (int64_t byte = 0; byte < std::min<int64_t>(plan_.columns * load.size, 4096); byte += 64)
      __builtin_prefetch(from + byte);
  }

  const R* load_full(const LoadPlan& load, R* to) const {
    const bool rows_follow = at_.rows == 1 || (load.rows_dense && at_.columns == plan_.columns);
    if (load.columns_dense && rows_follow) {
      const std::byte* from = load.address(row_offset(load, at_.row) + at_.column);
      if (load.native) return reinterpret_cast<const R*>(from);
      load.convert(from, to, at_.elements());
      return to;
    }
    for (int64_t r = 0; r < at_.rows; ++r) load_row(load, row_offset(load, at_.row + r), to + r * at_.columns);
    return to;
  }

  const R* load_kept(const LoadPlan& load, R* to) const {
    const bool outer = plan_.fold == Fold::outer;
    const int64_t first = outer ? row_offset(load, at_.row) : 0;
    if (!load.index && (outer ? load.columns_dense : load.rows.uniform(1))) {
      const std::byte* from = load.address(outer ? first + at_.column : at_.row);
      if (load.native) return reinterpret_cast<const R*>(from);
      load.convert(from, to, at_.kept());
      return to;
    }
    for (int64_t k = 0; k < at_.kept(); ++k) {
      const int64_t offset = outer ? first + load.columns.offset(at_.column + k) : row_offset(load, at_.row + k);
      load.convert(load.address(offset), to + k, 1);
    }
    return to;
  }

  void fill_iota(const RegisterPlan<R>& reg, R* to) const {
    if (reg.reach == Reach::kept) {
      const bool outer = plan_.fold == Fold::outer;
      for (int64_t k = 0; k < at_.kept(); ++k)
        to[k] = R(reg.iota_rows.offset(outer ? at_.row : at_.row + k) +
                  (outer ? reg.iota_columns.offset(at_.column + k) : 0));
      return;
    }
    for (int64_t r = 0; r < at_.rows; ++r) {
      const int64_t start = reg.iota_rows.offset(at_.row + r);
      for (int64_t c = 0; c < at_.columns; ++c)
        to[r * at_.columns + c] = R(start + reg.iota_columns.offset(at_.column + c));
    }
  }

  void fill_uniform(const RegisterPlan<R>& reg, const Run& run, R* to) const {
    if (reg.reach == Reach::kept) return draw(reg, run, at_.first_kept(), to, at_.kept());
    if (at_.contiguous()) return draw(reg, run, at_.flat(), to, at_.elements());
    for (int64_t r = 0; r < at_.rows; ++r)
      draw(reg, run, (at_.row + r) * plan_.columns + at_.column, to + r * at_.columns, at_.columns);
  }

 private:
  int64_t row_offset(const LoadPlan& load, int64_t row) const {
    if (!load.index) return load.rows.offset(row);
    const int64_t stride = load.rows.strides[0], inner = plan_.rows / load.rows.sizes[0];
    const int64_t at = row / inner, looked_up = static_cast<const int32_t*>(*load.index)[at];
    if (looked_up < 0 || looked_up >= load.index_limit)
      fail(ErrorKind::data, "index ", looked_up, " at place ", at, " is not in [0, ", load.index_limit, ")");
    return load.rows.offset(row % inner) + looked_up * stride;
  }

  void load_row(const LoadPlan& load, int64_t offset, R* to) const {
    if (load.columns_dense) {
      load.convert(load.address(offset + at_.column), to, at_.columns);
    } else if (load.columns_repeat) {
      load.convert(load.address(offset), to, 1);
      std::fill_n(to + 1, at_.columns - 1, *to);
    } else {
      for (int64_t c = 0; c < at_.columns; ++c)
        load.convert(load.address(offset + load.columns.offset(at_.column + c)), to + c, 1);
    }
  }

  const SegmentPlan<R>& plan_;
  const TilePlace<R>& at_;
};

}  // namespace neon::cpu
