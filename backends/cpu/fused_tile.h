// Runs the body of a segment over one tile. One object a thread.
#pragma once
#include <algorithm>
#include <cmath>

#include "backends/cpu/fused_place.h"
#include "backends/cpu/fused_source.h"
#include "backends/elementwise/ask_for.h"

namespace neon::cpu {

constexpr int64_t kPiece = 256;  // numbers of a loop over arrays in memory

template <typename R>
class TileRunner {
 public:
  explicit TileRunner(const SegmentPlan<R>& plan)
      : plan_(plan), at_(plan), source_(plan, at_), registers_(plan.registers.size()), buffers_(size_t(plan.buffers)) {
    memory_ = Tensor(dtype_of<R>(), {std::max<int64_t>(1, plan.buffers * plan.buffer_elements())});
    for (size_t b = 0; b < buffers_.size(); ++b)
      buffers_[b] = static_cast<R*>(memory_.data()) + int64_t(b) * plan.buffer_elements();
    singles_ = Tensor(dtype_of<R>(), {int64_t(plan.registers.size()) * 16});
    spread_rows_.resize(plan.registers.size());
  }

  TileRunner(const TileRunner&) = delete;

  // Once before the tiles of a run: the numbers that are the same everywhere.
  void begin(const Run& run) {
    run_ = &run;
    fresh_ = true;
    begin_columns();
    for (size_t i = 0; i < plan_.registers.size(); ++i)
      if (plan_.registers[i].reach == Reach::scalar) {
        R* place = static_cast<R*>(singles_.data()) + i * 16;
        evaluate_scalar(plan_.registers[i], place);
        registers_[i] = place;
      }
  }

  void run_tile(int64_t tile, R* partials) {
    fresh_ = at_.enter(tile) || fresh_;
    for (size_t i = 0; i < plan_.registers.size(); ++i) {
      if (plan_.registers[i].load.index) source_.fetch_ahead(plan_.registers[i].load);
      if (plan_.registers[i].reach != Reach::scalar) evaluate(i);
    }
    // Totals first: a store may write over what a register points to.
    for (size_t t = 0; t < plan_.totals.size(); ++t) partials[t] = total(plan_.totals[t], tile);
    for (size_t s = 0; s < plan_.stores.size(); ++s) store(plan_.stores[s], int(s), tile);
    fresh_ = false;
  }

  // Runs one pass of a tall segment over a tile.
  void run_pass(int pass, int64_t tile, R* partials, Columns<R>& columns) {
    const int64_t stack = at_.stack, column = at_.column;
    for (part_ = 0; part_ == 0 || !at_.is_last; ++part_) {
      fresh_ = at_.enter(tile, part_) || fresh_;
      if (part_ == 0 && (at_.stack != stack || at_.column != column)) begin_columns();
      run_part(pass, tile, partials, columns);
    }
    part_ = 0;
  }

  // After all passes, what there is one of for every column.
  void run_kept(R* partials, Columns<R>& columns) {
    for (int64_t n = 0; n < plan_.stacks * plan_.column_tiles; ++n) {
      const int64_t stack = n / plan_.column_tiles;
      const int64_t tile = stack * plan_.row_tiles_of_stack() * plan_.column_tiles + n % plan_.column_tiles;
      fresh_ = at_.enter(tile) || fresh_;
      fresh_ = true;
      for (int i : plan_.kept) {
        const RegisterPlan<R>& reg = plan_.registers[size_t(i)];
        if (reg.kind == Instruction::Kind::reduce)
          registers_[size_t(i)] = columns.value(reg.reduction_slot) + at_.first_kept();
        else if (reg.reach != Reach::scalar) evaluate(size_t(i));
      }
      finish(tile, partials + tile * int64_t(plan_.totals.size()), Reach::kept);
    }
  }

 private:
  void run_part(int pass, int64_t tile, R* partials, Columns<R>& columns) {
    const bool last = pass == plan_.last_pass();
    stores_ = last;
    for (int i : plan_.passes[size_t(pass)]) {
      const RegisterPlan<R>& reg = plan_.registers[size_t(i)];
      if (const BodyPlan<R>* body = plan_.body_of(i, pass)) {
        walk(*body, i, columns);
        continue;
      }
      if (reg.load.index) source_.fetch_ahead(reg.load);
      if (reg.kind == Instruction::Kind::reduce) {
        if (reg.known <= pass) registers_[size_t(i)] = columns.value(reg.reduction_slot) + at_.first_kept();
        else fold(reg, at_.partial(columns, reg.reduction_slot));
      } else if (reg.reach == Reach::full || (reg.reach == Reach::kept && new_columns_)) {
        evaluate(size_t(i));
      }
    }
    if (last) finish(tile, partials, Reach::full);
    fresh_ = new_columns_ = false;
  }

  // Numbers of the columns, and these repeated, hold for all parts with the same columns.
  void begin_columns() {
    new_columns_ = true;
    std::ranges::fill(spread_rows_, 0);
  }

  // Numbers of the columns are repeated over some rows, so that loops are long where columns are few.
  void walk(const BodyPlan<R>& body, int last, Columns<R>& columns) {
    const int64_t rows = at_.walked_rows(), width = rows * at_.columns;
    elementwise::ColumnWalk<R> w = {};
    w.n = at_.elements(), w.width = width;
    w.x = registers_[size_t(body.x)];
    if (body.g >= 0) w.g = registers_[size_t(body.g)];
    for (size_t k = 0; k < body.kept.size(); ++k) {
      const R* numbers = registers_[size_t(body.kept[k])];
      w.kept[k] = rows == 1 ? numbers : spread(body.kept[k], numbers, rows);
    }
    if (body.slope >= 0) w.slope = *registers_[size_t(body.slope)], w.most = *registers_[size_t(body.most)];
    if (body.factor >= 0) w.factor = *registers_[size_t(body.factor)];
    if (!body.adds_up()) {
      const RegisterPlan<R>& reg = plan_.registers[size_t(last)];
      w.y = place_of(reg);
      body.walk(w);
      registers_[size_t(last)] = w.y;
      return;
    }
    sums_.assign(2 * size_t(width), 0);
    w.sums[0] = sums_.data(), w.sums[1] = sums_.data() + width;
    body.walk(w);
    for (int s : {0, 1}) {
      const RegisterPlan<R>& reg = plan_.registers[size_t(body.sums[s])];
      fold_rows(reg, w.sums[s], rows, w.sums[s], at_.partial(columns, reg.reduction_slot));
    }
  }

  // The place of a computed register: its store if that may be, otherwise its buffer.
  R* place_of(const RegisterPlan<R>& reg) const {
    if (!stores_ || reg.direct_store < 0 || !at_.contiguous()) return buffers_[size_t(reg.buffer)];
    return static_cast<R*>(*plan_.stores[size_t(reg.direct_store)].slot) + at_.flat();
  }

  // Totals and stores of full registers, or of those that are not.
  void finish(int64_t tile, R* partials, Reach reach) {
    const auto is_meant = [&](int reg) {
      return (plan_.registers[size_t(reg)].reach == Reach::full) == (reach == Reach::full);
    };
    for (size_t t = 0; t < plan_.totals.size(); ++t) {
      if (is_meant(plan_.totals[t].reg)) {
        const R both[] = {total(plan_.totals[t], tile), partials[t]};
        partials[t] = fold_run(plan_.totals[t].kind, both, part_ > 0 ? 2 : 1);
      } else if (reach == Reach::full) {
        partials[t] = fold_run(plan_.totals[t].kind, nullptr, 0);
      }
    }
    for (size_t s = 0; s < plan_.stores.size(); ++s)
      if (is_meant(plan_.stores[s].reg)) store(plan_.stores[s], int(s), tile);
  }

  void evaluate_scalar(const RegisterPlan<R>& reg, R* place) {
    switch (reg.kind) {
      case Instruction::Kind::constant: *place = R(reg.number); break;
      case Instruction::Kind::record: *place = R(run_->scalars[reg.record]); break;
      case Instruction::Kind::load: reg.load.convert(reg.load.address(0), place, 1); break;
      case Instruction::Kind::iota: *place = 0; break;
      case Instruction::Kind::uniform: draw(reg, *run_, 0, place, 1); break;
      default: {
        const R* inputs[kMostOperands];
        for (size_t k = 0; k < reg.inputs.size(); ++k) inputs[k] = registers_[size_t(reg.inputs[k])];
        reg.functions[0](inputs, place, 1);
      }
    }
  }

  void evaluate(size_t i) {
    const RegisterPlan<R>& reg = plan_.registers[i];
    if (reg.same_in_all_tiles && !fresh_) return;
    R* to = buffers_[size_t(reg.buffer)];
    switch (reg.kind) {
      case Instruction::Kind::load:
        registers_[i] = reg.reach == Reach::kept ? source_.load_kept(reg.load, to) : source_.load_full(reg.load, to);
        break;
      case Instruction::Kind::iota:
        source_.fill_iota(reg, to);
        registers_[i] = to;
        break;
      case Instruction::Kind::uniform:
        source_.fill_uniform(reg, *run_, to);
        registers_[i] = to;
        break;
      case Instruction::Kind::reduce:
        fold(reg, to);
        registers_[i] = to;
        break;
      default: {
        to = place_of(reg);
        compute(reg, to);
        registers_[i] = to;
      }
    }
  }

  void compute(const RegisterPlan<R>& reg, R* to) {
    const bool full = reg.reach == Reach::full;
    const R* inputs[kMostOperands];
    unsigned mask = 0;
    for (size_t k = 0; k < reg.inputs.size(); ++k) {
      const auto& input = plan_.registers[size_t(reg.inputs[k])];
      inputs[k] = registers_[size_t(reg.inputs[k])];
      if (input.reach == Reach::scalar || (full && input.reach == Reach::kept && at_.kept() == 1)) mask |= 1u << k;
      else if (full && input.reach == Reach::kept) inputs[k] = spread(reg.inputs[k], inputs[k]);
    }
    if (!reg.functions[mask]) {
      for (size_t k = 0; k < reg.inputs.size(); ++k)
        if (mask & (1u << k)) {
          R* spread_to = buffers_[size_t(plan_.registers[size_t(reg.inputs[k])].expanded)];
          std::fill_n(spread_to, full ? at_.elements() : at_.kept(), *inputs[k]);
          inputs[k] = spread_to;
        }
      mask = 0;
    }
    const int64_t n = full ? at_.elements() : at_.kept();
    if (const unsigned far = full ? in_memory(reg) : 0) run_pieces(reg, inputs, mask, far, to, n);
    else reg.functions[mask](inputs, to, n);
  }

  // The operands that lie in memory, not in a buffer, as bits.
  unsigned in_memory(const RegisterPlan<R>& reg) const {
    unsigned out = 0;
    for (size_t k = 0; k < reg.inputs.size(); ++k) {
      const RegisterPlan<R>& input = plan_.registers[size_t(reg.inputs[k])];
      if (input.kind == Instruction::Kind::load && input.reach == Reach::full &&
          registers_[size_t(reg.inputs[k])] != buffers_[size_t(input.buffer)])
        out |= 1u << k;
    }
    return out;
  }

  // A loop in pieces, between which the cache is asked for what the next ones read.
  static void run_pieces(const RegisterPlan<R>& reg, const R** inputs, unsigned single, unsigned far, R* to,
                         int64_t n) {
    for (int64_t first = 0; first < n; first += kPiece) {
      const int64_t count = std::min(kPiece, n - first);
      for (size_t k = 0; k < reg.inputs.size(); ++k)
        if (far & (1u << k)) elementwise::ask_for(inputs[k], count);
      reg.functions[single](inputs, to + first, count);
      for (size_t k = 0; k < reg.inputs.size(); ++k)
        if (!(single & (1u << k))) inputs[k] += count;
    }
  }

  // Kept numbers repeated over the reduced indices of the part. In a pass over a tall segment, parts with the same
  // columns share them.
  const R* spread(int reg, const R* kept_numbers) { return spread(reg, kept_numbers, at_.rows); }
  const R* spread(int reg, const R* kept_numbers, int64_t rows) {
    R* to = buffers_[size_t(plan_.registers[size_t(reg)].expanded)];
    int64_t& there = spread_rows_[size_t(reg)];
    if (!plan_.tall) there = 0;
    for (; there < rows; ++there) {
      if (plan_.fold == Fold::outer) std::copy_n(kept_numbers, at_.columns, to + there * at_.columns);
      else std::fill_n(to + there * at_.columns, at_.columns, kept_numbers[there]);
    }
    return to;
  }

  // All of a register as full-size elements.
  const R* full(int reg) {
    const auto& plan = plan_.registers[size_t(reg)];
    const R* at = registers_[size_t(reg)];
    if (plan.reach == Reach::full) return at;
    if (plan.reach == Reach::kept) return spread(reg, at);
    R* to = buffers_[size_t(plan.expanded)];
    std::fill_n(to, at_.elements(), *at);
    return to;
  }

  R fold_run(Reduction kind, const R* from, int64_t n) const {
    const elementwise::Reductions<R>& folds = folds_;
    switch (kind) {
      case Reduction::sum: return folds.sum(from, n);
      case Reduction::max: return folds.maximum(from, n);
      case Reduction::min: return folds.minimum(from, n);
      case Reduction::argmax: return R(folds.argmax(from, n));
      case Reduction::none: break;
    }
    return 0;
  }

  // A part behind the first adds to the results of those before it.
  void fold(const RegisterPlan<R>& reg, R* to) {
    const R* from = full(reg.inputs[0]);
    if (plan_.fold != Fold::outer) {
      for (int64_t r = 0; r < at_.rows; ++r) to[r] = fold_run(reg.reduction, from + r * at_.columns, at_.columns);
      return;
    }
    if (reg.reduction == Reduction::argmax) {
      for (int64_t c = 0; c < at_.columns; ++c) {
        int64_t best = 0;
        for (int64_t r = 1; r < at_.rows; ++r) {
          const R now = from[r * at_.columns + c], top = from[best * at_.columns + c];
          if (now > top || (now != now && top == top)) best = r;
        }
        to[c] = R(best);
      }
      return;
    }
    fold_rows(reg, from, at_.rows, buffers_[size_t(plan_.fold_buffer)], to);
  }

  // Halves of the rows onto each other, so that few and long loops do it; `half` may be the rows themselves.
  // Steps are first added to a few rows, as walk() does, so that the same sums follow from either.
  void fold_rows(const RegisterPlan<R>& reg, const R* from, int64_t rows, R* half, R* to) {
    if (const int64_t few = at_.walked_rows(); plan_.of_steps && rows > few) {
      const int64_t width = few * at_.columns, all = rows * at_.columns;
      std::copy_n(from, width, half);
      for (int64_t first = width; first < all; first += width) {
        const R* inputs[] = {half, from + first};
        reg.functions[0](inputs, half, std::min(width, all - first));
      }
      from = half, rows = few;
    }
    halve(rows, [&](int64_t first, int64_t pairs) {
      const R* inputs[] = {from, from + first * at_.columns};
      reg.functions[0](inputs, half, pairs * at_.columns);
      if (from != half)
        std::copy_n(from + pairs * at_.columns, (first - pairs) * at_.columns, half + pairs * at_.columns);
      from = half;
    });
    if (part_ == 0) {
      std::copy_n(from, at_.columns, to);
    } else {
      const R* inputs[] = {to, from};
      reg.functions[0](inputs, to, at_.columns);
    }
  }

  // A single number counts once, in the first tile.
  R total(const typename SegmentPlan<R>::Total& total, int64_t tile) const {
    const Reach reach = plan_.registers[size_t(total.reg)].reach;
    const int64_t n = reach == Reach::full ? at_.elements() : reach == Reach::kept ? at_.kept() : tile == 0 ? 1 : 0;
    return fold_run(total.kind, registers_[size_t(total.reg)], n);
  }

  void store(const StorePlan& store, int number, int64_t tile) {
    if (store.reach == Reach::scalar) {
      if (tile == 0) store.put(registers_[size_t(store.reg)], 0, 1);
    } else if (store.reach == Reach::kept) {
      store.put(registers_[size_t(store.reg)], at_.first_kept(), at_.kept());
    } else {
      if (plan_.registers[size_t(store.reg)].direct_store == number && at_.contiguous()) return;
      const R* from = full(store.reg);
      if (at_.contiguous()) return store.put(from, at_.flat(), at_.elements());
      for (int64_t r = 0; r < at_.rows; ++r)
        store.put(from + r * at_.columns, (at_.row + r) * plan_.columns + at_.column, at_.columns);
    }
  }

  const SegmentPlan<R>& plan_;
  TilePlace<R> at_;
  TileSource<R> source_;
  static const elementwise::Reductions<R>& folds_of(const elementwise::Level& level) {
    if constexpr (std::is_same_v<R, float>) return *level.reduce_f32;
    else return *level.reduce_f64;
  }
  const elementwise::Reductions<R>& folds_ = folds_of(elementwise::active_level());
  std::vector<const R*> registers_;
  std::vector<R*> buffers_;
  std::vector<R> sums_;  // of a walk over columns
  Tensor memory_, singles_;
  const Run* run_ = nullptr;
  std::vector<int64_t> spread_rows_;  // by register: rows that its numbers are repeated in
  int64_t part_ = 0;                  // of the tile
  bool stores_ = true;                // what is computed is stored at once
  bool fresh_ = true;                 // nothing in the buffers can be kept
  bool new_columns_ = true;           // of a tall segment: nor can numbers of the columns
};

}  // namespace neon::cpu
