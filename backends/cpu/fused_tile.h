// Runs the body of a segment over one tile. One object a thread.
#pragma once
#include <algorithm>
#include <cmath>

#include "backends/cpu/fused_place.h"

namespace neon::cpu {

// Elements first .. first + n - 1 of a register's stream.
template <typename R>
void draw(const RegisterPlan<R>& reg, const Run& run, int64_t first, R* to, int64_t n) {
  const elementwise::Random& random = *elementwise::active_level().random;
  const elementwise::RandomKey key{reg.seed, reg.stream, run.step};
  first += reg.first_drawn;
  if constexpr (std::is_same_v<R, float>) random.uniform_f32(key, uint64_t(first), to, n);
  else random.uniform_f64(key, uint64_t(first), to, n);
}

template <typename R>
class TileRunner {
 public:
  explicit TileRunner(const SegmentPlan<R>& plan)
      : plan_(plan), at_(plan), registers_(plan.registers.size()), buffers_(size_t(plan.buffers)) {
    memory_ = Tensor(dtype_of<R>(), {std::max<int64_t>(1, plan.buffers * plan.buffer_elements())});
    for (size_t b = 0; b < buffers_.size(); ++b)
      buffers_[b] = static_cast<R*>(memory_.data()) + int64_t(b) * plan.buffer_elements();
    singles_ = Tensor(dtype_of<R>(), {int64_t(plan.registers.size()) * 16});
    spread_rows_.resize(plan.registers.size());
  }

  // Once before the tiles of a run: the numbers that are the same everywhere.
  void begin(const Run& run) {
    run_ = &run;
    fresh_ = true;
    std::ranges::fill(spread_rows_, 0);
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
      if (plan_.registers[i].load.index) fetch_ahead(plan_.registers[i].load);
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
      if (part_ == 0 && (at_.stack != stack || at_.column != column)) std::ranges::fill(spread_rows_, 0);
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
      if (reg.load.index) fetch_ahead(reg.load);
      if (reg.kind == Instruction::Kind::reduce) {
        const int64_t row_tile = tile / plan_.column_tiles % plan_.row_tiles_of_stack();
        if (reg.known <= pass) registers_[size_t(i)] = columns.value(reg.reduction_slot) + at_.first_kept();
        else fold(reg, columns.partial(row_tile, reg.reduction_slot) + at_.first_kept());
      } else if (reg.reach != Reach::scalar) {
        evaluate(size_t(i));
      }
    }
    if (last) finish(tile, partials, Reach::full);
    fresh_ = false;
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
        registers_[i] = reg.reach == Reach::kept ? load_kept(reg.load, to) : load_full(reg.load, to);
        break;
      case Instruction::Kind::iota:
        fill_iota(reg, to);
        registers_[i] = to;
        break;
      case Instruction::Kind::uniform:
        fill_uniform(reg, to);
        registers_[i] = to;
        break;
      case Instruction::Kind::reduce:
        fold(reg, to);
        registers_[i] = to;
        break;
      default: {
        if (stores_ && reg.direct_store >= 0 && at_.contiguous())
          to = static_cast<R*>(*plan_.stores[size_t(reg.direct_store)].slot) + at_.flat();
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
    reg.functions[mask](inputs, to, full ? at_.elements() : at_.kept());
  }

  // Kept numbers repeated over the reduced indices of the part. In a pass over a tall segment, parts with the same
  // columns share them.
  const R* spread(int reg, const R* kept_numbers) {
    R* to = buffers_[size_t(plan_.registers[size_t(reg)].expanded)];
    int64_t& there = spread_rows_[size_t(reg)];
    if (!plan_.tall) there = 0;
    for (; there < at_.rows; ++there) {
      if (plan_.fold == Fold::outer) std::copy_n(kept_numbers, at_.columns, to + there * at_.columns);
      else std::fill_n(to + there * at_.columns, at_.columns, kept_numbers[there]);
    }
    return to;
  }

  // The row that the next tile looks up lies anywhere in memory: the cache fetches it while the thread works on this
  // tile.
  void fetch_ahead(const LoadPlan& load) const {
    const int64_t next = at_.row + at_.rows;
    if (next >= plan_.rows || !load.columns_dense) return;
    const std::byte* from = load.address(row_offset(load, next));
    for (int64_t byte = 0; byte < std::min<int64_t>(plan_.columns * load.size, 4096); byte += 64)
      __builtin_prefetch(from + byte);
  }

  int64_t row_offset(const LoadPlan& load, int64_t row) const {
    if (!load.index) return load.rows.offset(row);
    const int64_t stride = load.rows.strides[0], inner = plan_.rows / load.rows.sizes[0];
    const int64_t at = row / inner, looked_up = static_cast<const int32_t*>(*load.index)[at];
    if (looked_up < 0 || looked_up >= load.index_limit)
      fail(ErrorKind::data, "index ", looked_up, " at place ", at, " is not in [0, ", load.index_limit, ")");
    return load.rows.offset(row % inner) + looked_up * stride;
  }

  const R* load_full(const LoadPlan& load, R* to) {
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

  void load_row(const LoadPlan& load, int64_t offset, R* to) {
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

  const R* load_kept(const LoadPlan& load, R* to) {
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

  void fill_iota(const RegisterPlan<R>& reg, R* to) {
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

  void fill_uniform(const RegisterPlan<R>& reg, R* to) {
    if (reg.reach == Reach::kept) return draw(reg, *run_, at_.first_kept(), to, at_.kept());
    if (at_.contiguous()) return draw(reg, *run_, at_.flat(), to, at_.elements());
    for (int64_t r = 0; r < at_.rows; ++r)
      draw(reg, *run_, (at_.row + r) * plan_.columns + at_.column, to + r * at_.columns, at_.columns);
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
    // Halves of the rows onto each other, so that few and long loops do it.
    R* half = buffers_[size_t(plan_.fold_buffer)];
    for (int64_t rows = at_.rows; rows > 1; rows = (rows + 1) / 2) {
      const int64_t pairs = rows / 2, first = rows - pairs;
      const R* inputs[] = {from, from + first * at_.columns};
      reg.functions[0](inputs, half, pairs * at_.columns);
      if (first > pairs && from != half)
        std::copy_n(from + pairs * at_.columns, at_.columns, half + pairs * at_.columns);
      from = half;
    }
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
  static const elementwise::Reductions<R>& folds_of(const elementwise::Level& level) {
    if constexpr (std::is_same_v<R, float>) return *level.reduce_f32;
    else return *level.reduce_f64;
  }
  const elementwise::Reductions<R>& folds_ = folds_of(elementwise::active_level());
  std::vector<const R*> registers_;
  std::vector<R*> buffers_;
  Tensor memory_, singles_;
  const Run* run_ = nullptr;
  std::vector<int64_t> spread_rows_;  // by register: rows that its numbers are repeated in
  int64_t part_ = 0;                  // of the tile
  bool stores_ = true;                // what is computed is stored at once
  bool fresh_ = true;                 // nothing in the buffers can be kept
};

}  // namespace neon::cpu
