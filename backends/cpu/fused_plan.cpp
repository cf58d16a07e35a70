#include "backends/cpu/fused_plan.h"

#include <algorithm>
#include <bit>
#include <set>

#include "backends/graph/op.h"
#include "neon/core/random.h"

namespace neon::cpu {

bool Walk::uniform(int64_t stride) const {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != stride) return false;
    stride *= sizes[i];
  }
  return true;
}

namespace {

constexpr int64_t kTileBytes = 4096;                             // of a register, where the domain allows
constexpr int64_t kOuterTileBytes = 32768;                       // whole columns take more
constexpr int64_t kCacheBytes = 65536, kLeastPartBytes = 8192;   // of full registers; of one
constexpr int64_t kPartsOfSteps = 4;                             // of a tile
constexpr int64_t kColumnsOfSamples = 64;                        // of a tile, where columns have steps
constexpr int64_t kWidestTallTile = 512, kNarrowTallTile = 256;  // columns; with more, rows of a tile would be too few
constexpr int64_t kWidestReadInPlace = 1280;                     // columns; their numbers share the cache with rows
constexpr int64_t kLeastTallRows = 16;                           // of a tile, whose sums are read again

// The loop of an op whose inputs in `mask` are single numbers; null if no such loop exists.
template <typename R>
BlockFunction<R> function_of(const Op& op, unsigned mask) {
  if (op.derivative_operand < 0) {
    const bool all = mask == (1u << op.row->arity) - 1;
    return all ? nullptr : elementwise::block_function<R>(*op.row, mask);
  }
  const std::string operands = derivative_inputs(*op.row, op.derivative_operand);
  for (size_t k = 0; k < operands.size(); ++k)
    if ((mask & (1u << k)) && (operands[k] == 'g' || operands[k] == 'y')) return nullptr;
  return elementwise::derivative_function<R>(*op.row, op.derivative_operand, mask);
}

// The row that joins two parts of a reduction; null for argmax.
const char* joining_row(Reduction kind) {
  switch (kind) {
    case Reduction::sum: return "add";
    case Reduction::max: return "maximum";
    case Reduction::min: return "minimum";
    case Reduction::argmax:
    case Reduction::none: break;
  }
  return nullptr;
}

template <typename R>
class Planner {
 public:
  Planner(const Segment& segment, Context& context) : segment_(segment), context_(context) {}

  SegmentPlan<R> run() {
    split_axes();
    for (const Instruction& i : segment_.body) plan_.registers.push_back(plan(i));
    for (const Store& store : segment_.stores) plan_.stores.push_back(plan_store<R>(store, context_));
    for (const Total& total : segment_.totals) plan_.totals.push_back({total.op->traits.reduction, total.reg});
    choose_tiles();
    if (plan_.tall) plan_passes(plan_);
    find_direct_stores();
    assign_buffers();
    if (plan_.tall && !plan_.of_steps) choose_parts();
    return std::move(plan_);
  }

 private:
  // Which axes are rows, which columns.
  void split_axes() {
    const int rank = segment_.domain.rank();
    int first_reduced = rank, last_reduced = -1, last_kept = -1;
    for (int axis = 0; axis < rank; ++axis) {
      if (segment_.domain[axis] == 1) continue;
      if (segment_.reduced[size_t(axis)]) first_reduced = std::min(first_reduced, axis), last_reduced = axis;
      else last_kept = axis;
    }
    const bool reduces = std::ranges::count(segment_.reduced, true) > 0;
    if (!reduces) {
      // Columns are the last axes that every load walks densely or repeats as one; rows the others, all of them where
      // single numbers are looked up or added up sequence by sequence.
      const bool by_sequence = !segment_.totals.empty() && is_led_by_sequences();
      const bool numbers = (looks_up() || by_sequence) && rank == 1;
      column_axis_ = numbers ? 1 : std::max(rank - 1, 0);
      while (!numbers && column_axis_ > int(by_sequence) && joins(column_axis_ - 1)) --column_axis_;
    } else if (last_reduced >= 0 && (last_reduced < last_kept || adds_up_steps(first_reduced, last_kept))) {
      plan_.fold = Fold::outer;
      column_axis_ = last_reduced + 1;
      for (int axis = 0; axis < first_reduced; ++axis) plan_.stacks *= segment_.domain[axis];
    } else {
      plan_.fold = Fold::inner;
      column_axis_ = first_reduced;
    }
    for (int axis = 0; axis < rank; ++axis) (axis < column_axis_ ? plan_.rows : plan_.columns) *= segment_.domain[axis];
  }

  // Whether all numbers of steps of one feature become one number: a fold of columns adds them up sequence by sequence.
  bool adds_up_steps(int first_reduced, int last_kept) const {
    if (first_reduced > 0 || last_kept >= 0 || !is_led_by_sequences()) return false;
    if (std::ranges::any_of(segment_.body, [](const Instruction& i) { return is_argmax(i); })) return false;
    return segment_.domain.elements() > context_.lowered.graph.sequences;
  }
  static bool is_argmax(const Instruction& i) {
    return i.kind == Instruction::Kind::reduce && i.op->traits.reduction == Reduction::argmax;
  }

  // Whether rows are looked up: axis 0 must be one of the rows then.
  bool looks_up() const {
    return std::ranges::any_of(segment_.body, [](const Instruction& i) { return bool(i.index); });
  }

  // Whether axis and those after it can be walked as one by all loads.
  bool joins(int axis) const {
    for (const Instruction& i : segment_.body) {
      if (i.index && axis == 0) return false;
      if (i.kind == Instruction::Kind::iota) return false;
      if (i.kind != Instruction::Kind::load || i.reach == Reach::scalar) continue;
      if (segment_.domain[axis] == 1 || segment_.domain[axis + 1] == 1) continue;
      if (i.strides[size_t(axis)] != i.strides[size_t(axis + 1)] * segment_.domain[axis + 1]) return false;
    }
    return true;
  }

  Walk walk(const std::vector<int64_t>& strides, bool rows) const {
    Walk out;
    for (int axis = rows ? 0 : column_axis_; axis < (rows ? column_axis_ : segment_.domain.rank()); ++axis) {
      out.sizes.push_back(segment_.domain[axis]);
      out.strides.push_back(strides[size_t(axis)]);
    }
    return out;
  }

  RegisterPlan<R> plan(const Instruction& i) {
    RegisterPlan<R> out = plan_register<R>(i, context_);
    if (i.kind == Instruction::Kind::load && !i.strides.empty()) {
      out.load.rows = walk(i.strides, true);
      out.load.columns = walk(i.strides, false);
      out.load.columns_dense = out.load.columns.uniform(1);
      out.load.columns_repeat = out.load.columns.uniform(0);
      out.load.rows_dense = !i.index && out.load.rows.uniform(plan_.columns);
      out.load.rows_repeat = !i.index && out.load.rows.uniform(0);
    }
    if (i.kind == Instruction::Kind::iota) {
      std::vector<int64_t> strides(size_t(segment_.domain.rank()), 0);
      strides[size_t(i.axis)] = 1;
      out.iota_rows = walk(strides, true);
      out.iota_columns = walk(strides, false);
    }
    return out;
  }

  void choose_tiles() {
    plan_.runs = count_runs();
    if (plan_.fold == Fold::outer) choose_outer_tiles();
    else choose_other_tiles();
    auto tiles = [](int64_t all, int64_t one) { return one ? (all + one - 1) / one : 0; };
    plan_.row_tiles = plan_.runs * tiles(plan_.rows_of_run(), plan_.tile_rows);
    plan_.column_tiles = tiles(plan_.columns, plan_.tile_columns);
    const int64_t part = plan_.of_steps && plan_.tall ? plan_.tile_rows / kPartsOfSteps : plan_.tile_rows;
    plan_.part_rows = std::min(part, plan_.rows_of_run());
  }

  void choose_outer_tiles() {
    const int64_t most = kOuterTileBytes / int64_t(sizeof(R));
    plan_.of_samples = adds_up_samples();
    plan_.of_steps = context_.lowered.graph.sequences > 0 && !plan_.of_samples && !has_argmax();
    const int64_t widest = !plan_.of_steps && reads_in_place() ? kWidestReadInPlace : kWidestTallTile;
    plan_.tile_columns = plan_.columns <= widest ? plan_.columns : kNarrowTallTile;
    if (plan_.of_samples) plan_.tile_columns = std::min(plan_.columns, kColumnsOfSamples);
    plan_.tile_rows = most / std::max<int64_t>(plan_.of_samples ? kColumnsOfSamples : plan_.tile_columns, 1);
    if (plan_.of_steps) return cut_steps();
    plan_.tall = is_tall();
    plan_.tile_rows = std::max(plan_.tile_rows, kLeastTallRows);
    if (plan_.tall) return;
    plan_.tile_rows = plan_.rows_of_stack();
    const int64_t columns = most / std::max<int64_t>(plan_.tile_rows, 1);
    plan_.tile_columns = std::min(std::max<int64_t>(columns / 16 * 16, 16), plan_.columns);
  }

  // Whether whole rows are read from memory as they are, not copied or converted to a buffer first.
  bool reads_in_place() const {
    return std::ranges::none_of(plan_.registers, [](const RegisterPlan<R>& reg) {
      return reg.kind == Instruction::Kind::load && reg.reach == Reach::full && !reg.load.native;
    });
  }

  // Whether the same steps of all samples are added up. Their number, which padding changes, is among the columns.
  bool adds_up_samples() const {
    const int64_t sequences = context_.lowered.graph.sequences;
    return sequences > 0 && segment_.domain[0] == sequences && plan_.rows_of_stack() == sequences && !has_argmax();
  }

  // The number of steps, which padding changes, decides no place at which their sums are cut.
  void cut_steps() {
    const auto part = int64_t(std::bit_floor(uint64_t(plan_.tile_rows / 2)));
    plan_.tall = plan_.by_sequence() || plan_.rows_of_stack() > part;
    plan_.tile_rows = plan_.tall ? kPartsOfSteps * part : part;
  }

  void choose_other_tiles() {
    const int64_t elements = kTileBytes / int64_t(sizeof(R));
    plan_.tile_columns = plan_.fold == Fold::inner ? plan_.columns : std::min(plan_.columns, elements);
    plan_.tile_rows = 1;
    if (plan_.tile_columns != plan_.columns) return;
    plan_.tile_rows =
        std::clamp<int64_t>(elements / std::max<int64_t>(plan_.columns, 1), 1, std::max<int64_t>(plan_.rows, 1));
  }

  // Parts of a tall tile: as many rows as keep the full registers of its passes in the fastest cache, about.
  void choose_parts() {
    std::set<int> buffers;
    for (const auto& pass : plan_.passes)
      for (int i : pass)
        if (plan_.registers[size_t(i)].reach == Reach::full) buffers.insert(plan_.registers[size_t(i)].buffer);
    const int64_t count = std::max<int64_t>(int64_t(buffers.size()), 1);
    const int64_t bytes = std::clamp(kCacheBytes / count, kLeastPartBytes, kOuterTileBytes);
    const int64_t columns = plan_.of_samples ? kColumnsOfSamples : plan_.tile_columns;
    plan_.part_rows =
        std::clamp<int64_t>(bytes / int64_t(sizeof(R)) / columns, 1, std::max<int64_t>(plan_.tile_rows, 1));
  }

  // Stacks; or sequences, where steps of all sequences are added up. Zeros of padding, at the end of each sequence,
  // then change no bit.
  int64_t count_runs() const {
    const int64_t sequences = context_.lowered.graph.sequences, steps = sequences ? plan_.rows / sequences : 0;
    if (!is_led_by_sequences() || plan_.stacks != 1 || plan_.rows != steps * sequences) return plan_.stacks;
    if (plan_.fold == Fold::outer) return steps > 1 && !has_argmax() ? sequences : 1;
    return plan_.totals.empty() ? 1 : sequences;
  }

  // Whether axis 0 is sequences, or steps of all sequences.
  bool is_led_by_sequences() const {
    const Shape& domain = segment_.domain;
    const int64_t sequences = context_.lowered.graph.sequences;
    if (sequences == 0 || domain.rank() == 0) return false;
    return domain[0] == sequences || (domain.rank() <= 2 && domain[0] % sequences == 0);
  }

  // Whether whole columns would not fit a tile. The place of a largest is not known from parts of a column.
  bool is_tall() const {
    if (plan_.fold != Fold::outer || plan_.rows_of_stack() * 16 * int64_t(sizeof(R)) <= kOuterTileBytes) return false;
    return !has_argmax();
  }

  bool has_argmax() const {
    return std::ranges::any_of(plan_.registers, [](const RegisterPlan<R>& reg) {
      return reg.kind == Instruction::Kind::reduce && reg.reduction == Reduction::argmax;
    });
  }

  // A register goes straight to its store when no later instruction reads what lies there now.
  void find_direct_stores() {
    for (size_t s = 0; s < plan_.stores.size(); ++s) {
      const StorePlan& store = plan_.stores[s];
      RegisterPlan<R>& reg = plan_.registers[size_t(store.reg)];
      if (reg.kind != Instruction::Kind::compute || reg.reach != Reach::full || !store.native || reg.direct_store >= 0)
        continue;
      bool safe = store.reach == Reach::full;
      for (size_t i = 0; i < plan_.registers.size(); ++i) {
        const auto& other = plan_.registers[i];
        if (other.kind != Instruction::Kind::load || (other.load.slot != store.slot && *other.load.slot != *store.slot))
          continue;
        for (size_t j = size_t(store.reg) + 1; j < plan_.registers.size(); ++j)
          safe = safe && !std::ranges::count(plan_.registers[j].inputs, int(i));
        for (const auto& bodies : plan_.bodies)
          for (const BodyPlan<R>& body : bodies)
            safe = safe && (body.last <= store.reg || (body.x != int(i) && body.g != int(i)));
        for (const StorePlan& later : plan_.stores) safe = safe && later.reg != int(i);
        for (const auto& total : plan_.totals) safe = safe && total.reg != int(i);
      }
      if (safe) reg.direct_store = int(s);
    }
  }

  // Linear scan: a buffer is free again after the last instruction that reads its register.
  void assign_buffers() {
    const int count = int(plan_.registers.size());
    std::vector<int> last(size_t(count), -1);
    for (int i = 0; i < count; ++i)
      for (int input : plan_.registers[size_t(i)].inputs) last[size_t(input)] = i;
    for (const auto& bodies : plan_.bodies)
      for (const BodyPlan<R>& body : bodies)
        for (int input : body.inputs()) last[size_t(input)] = std::max(last[size_t(input)], body.last);
    for (const StorePlan& store : plan_.stores) last[size_t(store.reg)] = count;
    for (const auto& total : plan_.totals) last[size_t(total.reg)] = count;
    std::vector<int> free;
    auto take = [&] {
      if (free.empty()) return plan_.buffers++;
      const int buffer = free.back();
      free.pop_back();
      return buffer;
    };
    for (int i = 0; i < count; ++i) {
      RegisterPlan<R>& reg = plan_.registers[size_t(i)];
      const bool load = reg.kind == Instruction::Kind::load, iota = reg.kind == Instruction::Kind::iota;
      const bool whole_rows = plan_.tile_columns == plan_.columns;
      reg.same_in_all_tiles = reg.reach == Reach::full && whole_rows &&
                              ((load && reg.load.rows_repeat && !reg.load.index) || (iota && reg.iota_rows.uniform(0)));
      if (reg.reach == Reach::full || reg.reach == Reach::kept) {
        reg.stays = reg.same_in_all_tiles || (plan_.tall && reg.reach == Reach::kept);
        reg.buffer = reg.stays ? plan_.buffers++ : take();
      }
      // A number spread over the tile, for loops that take no single numbers there, reductions and stores.
      if (reg.reach != Reach::full) reg.expanded = plan_.buffers++;
      for (int input = 0; input < i; ++input)
        if (last[size_t(input)] == i && plan_.registers[size_t(input)].buffer >= 0 &&
            !plan_.registers[size_t(input)].stays)
          free.push_back(plan_.registers[size_t(input)].buffer);
      if (last[size_t(i)] < 0 && reg.buffer >= 0 && !reg.stays) free.push_back(reg.buffer);
    }
    if (plan_.fold == Fold::outer) plan_.fold_buffer = plan_.buffers++;
  }

  const Segment& segment_;
  Context& context_;
  SegmentPlan<R> plan_;
  int column_axis_ = 0;
};

}  // namespace

template <typename R>
RegisterPlan<R> plan_register(const Instruction& i, Context& context) {
  RegisterPlan<R> out;
  out.kind = i.kind;
  out.op = i.op;
  out.reach = i.reach;
  out.inputs = i.inputs;
  switch (i.kind) {
    case Instruction::Kind::load:
      out.load.slot = context.slot(i.value);
      out.load.size = int64_t(size_of(context.type(i.value).dtype));
      out.load.first = i.first * out.load.size;
      out.load.native = context.type(i.value).dtype == dtype_of<R>();
      out.load.convert = elementwise::load_function(context.type(i.value).dtype, dtype_of<R>());
      if (i.index) {
        out.load.index = context.slot(i.index);
        out.load.index_limit = context.type(i.value).shape[0];
      }
      break;
    case Instruction::Kind::record: out.record = context.scalar(i.name); break;
    case Instruction::Kind::constant: out.number = i.number; break;
    case Instruction::Kind::uniform:
      out.seed = i.seed;
      out.stream = hash_name(i.name);
      out.drawn = i.places;
      break;
    case Instruction::Kind::reduce:
      out.reduction = i.op->traits.reduction;
      if (const char* row = joining_row(out.reduction))
        out.functions = {elementwise::block_function<R>(elementwise::row(row))};
      break;
    case Instruction::Kind::compute:
      NEON_ASSERT(i.inputs.size() <= size_t(kMostOperands));
      for (unsigned mask = 0; mask < (1u << i.inputs.size()); ++mask)
        out.functions.push_back(function_of<R>(*i.op, mask));
      NEON_ASSERT(out.functions[0]);
      break;
    default: break;
  }
  return out;
}

template <typename R>
SegmentPlan<R> plan_segment(const Segment& segment, Context& context) {
  return Planner<R>(segment, context).run();
}

template <typename R>
StorePlan plan_store(const Store& store, Context& context) {
  const DType dtype = context.type(store.value).dtype;
  const Placement& placement = context.lowered.placements[size_t(store.value.id)];
  return {store.reg,
          context.slot(store.value),
          int64_t(size_of(dtype)),
          dtype == dtype_of<R>() && !placement,
          elementwise::store_function(dtype_of<R>(), dtype),
          store.reach,
          placement};
}

template SegmentPlan<float> plan_segment(const Segment&, Context&);
template SegmentPlan<double> plan_segment(const Segment&, Context&);
template RegisterPlan<float> plan_register(const Instruction&, Context&);
template RegisterPlan<double> plan_register(const Instruction&, Context&);

template StorePlan plan_store<float>(const Store&, Context&);
template StorePlan plan_store<double>(const Store&, Context&);

}  // namespace neon::cpu
