// The part of a segment that a thread works on, and the results of its reductions for each row of tiles.
#pragma once
#include <algorithm>
#include <bit>
#include <vector>

#include "backends/cpu/fused_plan.h"

namespace neon::cpu {

constexpr int64_t kLeastWidth = 256;  // about, of a walk's repeated columns

// Halves rows until one is left: add(first, pairs) adds the last `pairs` rows, from row `first` on, to the first ones.
// `first` is the largest power of two below the number of rows, so that zeros behind the rows change no bit.
template <typename Add>
void halve(int64_t rows, Add&& add) {
  while (rows > 1) {
    const auto first = int64_t(std::bit_ceil(uint64_t(rows)) / 2);
    add(first, rows - first);
    rows = first;
  }
}

// The results of a tall segment's reductions in the columns of all stacks: for each row of tiles, and altogether.
template <typename R>
struct Columns {
  explicit Columns(const SegmentPlan<R>& plan)
      : width(plan.stacks * plan.columns),
        values(plan.reductions.size() * size_t(width)),
        partials(values.size() * size_t(plan.tall ? plan.row_tiles_of_stack() : 0)) {}
  R* value(int slot) { return values.data() + slot * width; }
  R* partial(int64_t row_tile, int slot) { return partials.data() + row_tile * int64_t(values.size()) + slot * width; }
  int64_t width;
  std::vector<R> values, partials;
};

// The part of a tile that a thread works on: rows and columns of its segment. A tall segment has its rows in stacks.
template <typename R>
class TilePlace {
 public:
  explicit TilePlace(const SegmentPlan<R>& plan) : plan_(plan) {}

  // Goes to a part of a tile, and returns whether it has another number of elements than the one before.
  bool enter(int64_t tile, int64_t part = 0) {
    const int64_t row_tile = tile / plan_.column_tiles, column_tile = tile % plan_.column_tiles;
    const int64_t run = row_tile / plan_.row_tiles_of_run(), all_rows = plan_.rows_of_run();
    const int64_t first = row_tile % plan_.row_tiles_of_run() * plan_.tile_rows;
    const int64_t end = std::min(first + plan_.tile_rows, all_rows);
    const int64_t row_in_run = first + part * plan_.part_rows, before = elements();
    stack = row_tile / plan_.row_tiles_of_stack();
    row_tile_of_stack = row_tile % plan_.row_tiles_of_stack();
    row = run * all_rows + row_in_run;
    column = column_tile * plan_.tile_columns;
    rows = std::min(plan_.part_rows, end - row_in_run);
    is_last = row_in_run + rows == end;
    columns = std::min(plan_.tile_columns, plan_.columns - column);
    return elements() != before;
  }

  int64_t elements() const { return rows * columns; }
  int64_t kept() const { return plan_.fold == Fold::outer ? columns : rows; }
  int64_t first_kept() const { return plan_.fold == Fold::outer ? stack * plan_.columns + column : row; }
  int64_t flat() const { return row * plan_.columns + column; }
  // The place of a tall tile's part of a reduction.
  R* partial(Columns<R>& columns, int slot) const { return columns.partial(row_tile_of_stack, slot) + first_kept(); }
  // The rows that a walk over columns repeats them in.
  int64_t walked_rows() const { return plan_.of_samples ? 1 : std::clamp<int64_t>(kLeastWidth / columns, 1, rows); }
  bool contiguous() const { return rows == 1 || columns == plan_.columns; }

  int64_t stack = 0, row_tile_of_stack = 0, row = 0, column = 0, rows = 0, columns = -1;
  bool is_last = true;  // of the tile's parts

 private:
  const SegmentPlan<R>& plan_;
};

}  // namespace neon::cpu
