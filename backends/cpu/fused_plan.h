// A fused segment made ready for the CPU: loops chosen, strides resolved, block buffers assigned. R is the type
// of arithmetic, float or double.
//
// The domain becomes rows × columns, either possibly of several axes. The body runs tile by tile: some rows by
// some columns, few enough that the registers stay in the first-level cache. With reduced axes that trail
// (inner) a tile has whole rows and kept indices are rows; with reduced axes that lead (outer) it has whole
// columns and kept indices are columns; where columns are too long for that (tall), a tile has some of their rows,
// taken part by part, and the tiles are walked in several passes, as fused_passes.cpp says. Kept axes before the
// reduced ones of an outer fold make stacks of rows, each with columns of its own: (K,R,C) is K stacks of R rows.
#pragma once
#include <optional>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/op.h"

namespace neon::cpu {

using elementwise::BlockFunction;
using elementwise::ConvertFunction;

enum class Fold : uint8_t { none, inner, outer };

// Sizes of the axes of one side of the domain, outermost first, and the strides by which a load walks them.
struct Walk {
  std::vector<int64_t> sizes, strides;
  int64_t offset(int64_t index) const {
    int64_t out = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      out += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return out;
  }
  // Whether consecutive indices lie `stride` apart throughout.
  bool uniform(int64_t stride) const;
};

struct LoadPlan {
  void** slot = nullptr;
  void** index = nullptr;   // of a gather: i32 rows, one for each index of the domain's first axis
  int64_t index_limit = 0;  // rows that the data has
  int64_t size = 0;         // bytes of an element
  int64_t first = 0;        // bytes before the first element
  bool native = false;      // stored in the type of the arithmetic
  ConvertFunction convert = nullptr;
  Walk rows, columns;  // strides in elements
  bool columns_dense = false, columns_repeat = false, rows_dense = false, rows_repeat = false;
  const std::byte* address(int64_t element) const {
    return static_cast<const std::byte*>(*slot) + first + element * size;
  }
};

constexpr int kMostOperands = 5;

template <typename R>
struct RegisterPlan {
  Instruction::Kind kind = Instruction::Kind::constant;
  const Op* op = nullptr;
  Reach reach = Reach::scalar;
  int buffer = -1;     // block buffer for its elements
  bool stays = false;  // no other register takes the buffer
  int expanded = -1;   // block buffer for a kept or single number spread over the tile
  bool same_in_all_tiles = false;
  std::vector<int> inputs;
  // compute: by mask of operands that are single numbers, may be null; reduce: what joins two parts
  std::vector<BlockFunction<R>> functions;
  LoadPlan load;
  int record = 0;
  double number = 0;
  Walk iota_rows, iota_columns;
  uint64_t seed = 0, stream = 0;
  DrawPlaces drawn;
  Reduction reduction = Reduction::sum;
  int known = 0;  // tall: the pass from which on it can be computed
  int reduction_slot = -1;
  int direct_store = -1;  // full results may be written straight to the place of this store
};

// A walk over columns that stands for several instructions. Its operands are registers; -1: none.
template <typename R>
struct BodyPlan {
  typename elementwise::Columns<R>::Walk walk = nullptr;
  int x = -1, g = -1, slope = -1, most = -1, factor = -1;
  std::vector<int> kept;
  int sums[2] = {-1, -1};  // reductions; neither: the walk makes the register of `last`
  int last = -1;           // the last register that the walk makes
  bool adds_up() const { return sums[0] >= 0; }
  std::vector<int> inputs() const {
    std::vector<int> out = kept;
    for (int i : {x, g, slope, most, factor})
      if (i >= 0) out.push_back(i);
    return out;
  }
};

struct StorePlan {
  int reg = 0;
  void** slot = nullptr;
  int64_t size = 0;
  bool native = false;
  ConvertFunction convert = nullptr;
  Reach reach = Reach::full;
  Placement placement = {};
  // Numbers of the arithmetic as `count` elements of the value from `element` on.
  template <typename R>
  void put(const R* from, int64_t element, int64_t count) const {
    auto* to = static_cast<std::byte*>(*slot);
    placement.each_run(element, count, [&](int64_t at, int64_t place, int64_t n) {
      convert(from + (at - element), to + place * size, n);
    });
  }
};

template <typename R>
struct SegmentPlan {
  Fold fold = Fold::none;
  int64_t rows = 1, columns = 1, tile_rows = 1, tile_columns = 1, row_tiles = 1, column_tiles = 1;
  int64_t stacks = 1;       // rows and row_tiles are those of all stacks
  int64_t runs = 1;         // of rows that no tile crosses: stacks, or the sequences of a single stack
  bool of_steps = false;    // rows may be steps, so that more of them must change no sum of those before
  bool of_samples = false;  // rows are samples and columns their steps, so that more columns must change no sum
  int64_t part_rows = 1;    // that a thread works on at once: tall tiles have several such parts
  std::vector<RegisterPlan<R>> registers;
  std::vector<StorePlan> stores;
  struct Total {
    Reduction kind;
    int reg;
  };
  std::vector<Total> totals;
  int buffers = 0;
  int fold_buffer = -1;  // Fold::outer: room for halves of a register
  bool tall = false;
  std::vector<std::vector<int>> passes;  // tall: registers that each pass needs
  std::vector<int> kept;                 // tall: registers that are needed once for all columns, after the passes
  std::vector<int> reductions;           // tall: registers, by reduction_slot
  std::vector<std::vector<BodyPlan<R>>> bodies;  // tall: of each pass
  const BodyPlan<R>* body_of(int i, int pass) const {
    for (const BodyPlan<R>& body : bodies[size_t(pass)])
      if (body.last == i) return &body;
    return nullptr;
  }
  int last_pass() const { return int(passes.size()) - 1; }
  int64_t tiles() const { return row_tiles * column_tiles; }
  int64_t rows_of_stack() const { return rows / stacks; }
  int64_t row_tiles_of_stack() const { return row_tiles / stacks; }
  int64_t rows_of_run() const { return rows / runs; }
  int64_t row_tiles_of_run() const { return row_tiles / runs; }
  bool by_sequence() const { return runs != stacks; }
  int64_t buffer_elements() const { return (part_rows * tile_columns + 15) / 16 * 16; }
};

// The walk that makes register i in a pass beside those found before, if there is one. No two make the same sum.
template <typename R>
std::optional<BodyPlan<R>> find_body(const SegmentPlan<R>& plan, int i, int pass,
                                     const std::vector<BodyPlan<R>>& found);

// Says which passes a tall segment takes.
template <typename R>
void plan_passes(SegmentPlan<R>& plan);

template <typename R>
SegmentPlan<R> plan_segment(const Segment& segment, Context& context);

// The part of a register's plan that does not depend on the domain: all there is of a scalar instruction.
template <typename R>
RegisterPlan<R> plan_register(const Instruction& instruction, Context& context);
template <typename R>
StorePlan plan_store(const Store& store, Context& context);

}  // namespace neon::cpu
