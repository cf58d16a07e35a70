#include "backends/cuda/segment_source.h"

#include <algorithm>

namespace neon::cuda {

namespace {

constexpr int64_t kMostKeptItems = 8;  // elements of a group that one thread keeps in registers
constexpr int64_t kElementsOfManyBlocks = 256 * 1024;

int power_of_two_from(int64_t n) {
  int out = 1;
  while (out < n) out *= 2;
  return out;
}

std::string name(int reg) { return text("r", reg); }

}  // namespace

SegmentWriter::SegmentWriter(const Segment& segment, CodeText& code) : segment_(segment), code_(code) {
  split_axes();
  choose_lanes();
  find_levels();
}

void SegmentWriter::split_axes() {
  const int rank = segment_.domain.rank();
  int last_reduced = -1, first_kept = rank;
  for (int axis = 0; axis < rank; ++axis) {
    if (segment_.domain[axis] == 1) continue;
    if (segment_.reduced[size_t(axis)]) last_reduced = axis;
    else first_kept = std::min(first_kept, axis);
  }
  const bool reduces = std::ranges::count(segment_.reduced, true) > 0;
  if (reduces) fold_ = last_reduced >= 0 && last_reduced < first_kept && first_kept < rank ? Fold::outer : Fold::inner;
  inner_.assign(size_t(rank), 1);
  for (int axis = rank - 1; axis >= 0; --axis) {
    int64_t& side = segment_.reduced[size_t(axis)] ? reduced_ : groups_;
    inner_[size_t(axis)] = side;
    side *= segment_.domain[axis];
  }
}

void SegmentWriter::choose_lanes() {
  if (fold_ == Fold::none) {
    items_ = groups_ > kElementsOfManyBlocks ? 4 : 1;
    per_block_ = int64_t(kThreads) * items_;
  } else if (fold_ == Fold::inner) {
    lanes_ = std::min(power_of_two_from((reduced_ + 1) / 2), 32);
    if (reduced_ > 4096 || (reduced_ > 256 && groups_ < 2048)) lanes_ = kThreads;
    per_block_ = kThreads / lanes_;
  } else {
    per_block_ = std::min(power_of_two_from(groups_), 32);
    lanes_ = int(kThreads / per_block_);
  }
}

void SegmentWriter::find_levels() {
  for (const Instruction& i : segment_.body) {
    int level = 0;
    for (int input : i.inputs) level = std::max(level, level_[size_t(input)]);
    level_.push_back(level + (i.kind == Instruction::Kind::reduce));
    walks_ = std::max(walks_, level_.back() + 1);
  }
}

// Index along an axis, of group k or reduced index r.
std::string SegmentWriter::coordinate(int axis) const {
  const bool reduced = segment_.reduced[size_t(axis)];
  const int64_t inner = inner_[size_t(axis)], side = reduced ? reduced_ : groups_, size = segment_.domain[axis];
  std::string out = reduced ? "r" : "k";
  if (inner > 1) out = text("(", out, " / ", inner, ")");
  return inner * size < side ? text("(", out, " % ", size, ")") : out;
}

// Sum of coordinates times strides; neighbouring axes of one side that are walked as one are taken together.
std::string SegmentWriter::position(const std::vector<int64_t>& strides, bool skip_first) const {
  std::string out;
  int axis = segment_.domain.rank() - 1;
  while (axis >= (skip_first ? 1 : 0)) {
    const int64_t stride = strides[size_t(axis)];
    int first = axis;
    int64_t size = segment_.domain[axis];
    while (first > (skip_first ? 1 : 0) && segment_.reduced[size_t(first - 1)] == segment_.reduced[size_t(axis)] &&
           strides[size_t(first - 1)] == stride * size)
      size *= segment_.domain[--first];
    if (stride != 0 && size > 1) {
      const bool reduced = segment_.reduced[size_t(axis)];
      const int64_t inner = inner_[size_t(axis)], side = reduced ? reduced_ : groups_;
      std::string at = reduced ? "r" : "k";
      if (inner > 1) at = text("(", at, " / ", inner, ")");
      if (inner * size < side) at = text("(", at, " % ", size, ")");
      out += text(out.empty() ? "" : " + ", at, stride > 1 ? text(" * ", stride, "ll") : "");
    }
    axis = first - 1;
  }
  return out.empty() ? "0" : out;
}

std::string SegmentWriter::value(int reg) const {
  const Instruction& i = segment_.body[size_t(reg)];
  if (i.kind == Instruction::Kind::load && !i.strides.empty()) {
    if (!i.index) return code_.load(i.value, position(i.strides));
    return code_.gather(i.value, i.index, segment_.domain[0] > 1 ? coordinate(0) : "0", i.strides[0],
                        position(i.strides, true));
  }
  if (i.kind == Instruction::Kind::iota) return text("R(", segment_.domain[i.axis] > 1 ? coordinate(i.axis) : "0", ")");
  if (i.kind == Instruction::Kind::uniform && i.reach != Reach::scalar)
    return code_.uniform(i, i.reach == Reach::full ? "u64(e)" : "u64(k)");
  return code_.scalar_value(i, [](int input) { return name(input); });
}

std::string SegmentWriter::instruction(int reg) const { return text("const R ", name(reg), " = ", value(reg), ";\n"); }

std::string SegmentWriter::stores(Reach reach, const char* indent) const {
  std::string out;
  for (const Store& store : segment_.stores)
    if (store.reach == reach)
      out += code_.store(store.value,
                         reach == Reach::full   ? "e"
                         : reach == Reach::kept ? "k"
                                                : "0",
                         name(store.reg), indent);
  return out;
}

std::string SegmentWriter::totals(Reach reach, const char* indent) const {
  std::string out;
  for (size_t t = 0; t < segment_.totals.size(); ++t) {
    const Total& total = segment_.totals[t];
    if (segment_.body[size_t(total.reg)].reach == reach)
      out += text(indent, "t", t, " = ", fold_name(*total.op), "::join<R>(t", t, ", ", name(total.reg), ");\n");
  }
  return out;
}

std::string SegmentWriter::total_variables() const {
  std::string out;
  for (size_t t = 0; t < segment_.totals.size(); ++t)
    out += text("    R t", t, " = ", fold_name(*segment_.totals[t].op), "::start<R>();\n");
  return out;
}

std::string SegmentWriter::run() { return total_variables() + (fold_ == Fold::none ? flat() : grouped()); }

// Each thread takes some elements kThreads apart; all loads come first, so that they are under way together.
std::string SegmentWriter::flat() const {
  std::string scalars, loads, computes;
  for (size_t i = 0; i < segment_.body.size(); ++i) {
    const Instruction& instruction = segment_.body[i];
    if (instruction.reach == Reach::scalar) {
      scalars += "    " + this->instruction(int(i));
    } else if (instruction.kind == Instruction::Kind::load) {
      scalars += text("    R l", i, "[", items_, "];\n");
      loads += text("      l", i, "[i] = ", value(int(i)), ";\n");
      computes += text("      const R ", name(int(i)), " = l", i, "[i];\n");
    } else {
      computes += "      " + this->instruction(int(i));
    }
  }
  const char* index_type = groups_ < (int64_t(1) << 31) - 4 * kThreads ? "int" : "i64";
  auto loop = [&](const std::string& body) {
    return text("#pragma unroll\n    for (int i = 0; i < ", items_, "; ++i) {\n      const ", index_type,
                " k = ", index_type, "(block) * ", per_block_,
                " + i * kThreads + threadIdx.x, e = k;\n      if (k >= ", groups_, ") break;\n      (void)e;\n", body,
                "    }\n");
  };
  std::string out = scalars;
  if (!loads.empty()) out += loop(loads);
  const std::string whole = stores(Reach::full, "      ") + totals(Reach::full, "      ");
  if (!whole.empty()) out += loop(computes + whole);
  const std::string once = stores(Reach::scalar, "      ") + totals(Reach::scalar, "      ");
  if (!once.empty()) out += text("    if (block == 0 && threadIdx.x == 0) {\n", once, "    }\n");
  return out;
}

void SegmentWriter::add_needs(int reg, Needs& needs) const {
  if (needs[size_t(reg)] || segment_.body[size_t(reg)].reach != Reach::full) return;
  needs[size_t(reg)] = true;
  for (int input : segment_.body[size_t(reg)].inputs) add_needs(input, needs);
}

// Full registers that the walk after `level` reductions computes or reads.
SegmentWriter::Needs SegmentWriter::needs_of_walk(int level) const {
  Needs needs(segment_.body.size(), false);
  for (size_t i = 0; i < segment_.body.size(); ++i)
    if (segment_.body[i].kind == Instruction::Kind::reduce && level_[i] == level + 1)
      add_needs(segment_.body[i].inputs[0], needs);
  if (level == walks_ - 1) {
    for (const Store& store : segment_.stores) add_needs(store.reg, needs);
    for (const Total& total : segment_.totals) add_needs(total.reg, needs);
  }
  return needs;
}

std::string SegmentWriter::grouped() const {
  const bool outer = fold_ == Fold::outer;
  std::string out =
      text("    const i64 group = block * ", per_block_, " + threadIdx.x ",
           outer ? text("% ", per_block_) : text("/ ", lanes_), ";\n    const int lane = threadIdx.x ",
           outer ? text("/ ", per_block_) : text("% ", lanes_), ";\n    const bool active = group < ", groups_,
           ";\n    const i64 k = active ? group : ", groups_ - 1, ";\n    (void)lane, (void)active, (void)k;\n");
  std::vector<Needs> needs;
  for (int level = 0; level < walks_; ++level) needs.push_back(needs_of_walk(level));
  Needs cached(segment_.body.size(), false);
  for (int level = 0; level < walks_; ++level) {
    for (size_t i = 0; i < segment_.body.size(); ++i)
      if (level_[i] == level && segment_.body[i].reach != Reach::full &&
          segment_.body[i].kind != Instruction::Kind::reduce)
        out += "    " + instruction(int(i));
    out += walk(level, needs[size_t(level)], cached);
    for (size_t i = 0; i < segment_.body.size(); ++i)
      for (int later = level + 1; later < walks_; ++later)
        if (needs[size_t(level)][i] && needs[size_t(later)][i] && (reduced_ + lanes_ - 1) / lanes_ <= kMostKeptItems)
          cached[i] = true;
  }
  const std::string kept = stores(Reach::kept, "      ") + totals(Reach::kept, "      ");
  if (!kept.empty()) out += text("    if (active && lane == 0) {\n", kept, "    }\n");
  const std::string once = stores(Reach::scalar, "      ") + totals(Reach::scalar, "      ");
  if (!once.empty()) out += text("    if (block == 0 && threadIdx.x == 0) {\n", once, "    }\n");
  return out;
}

// One walk over the elements of the group: reductions of this level, in the last one also stores and totals.
std::string SegmentWriter::walk(int level, const Needs& needs, const Needs& cached) const {
  const bool outer = fold_ == Fold::outer, last = level == walks_ - 1;
  const int64_t items = (reduced_ + lanes_ - 1) / lanes_;
  const bool keeps = items <= kMostKeptItems;
  std::string before, body, after;
  for (size_t i = 0; i < segment_.body.size(); ++i) {
    if (!needs[i]) continue;
    if (cached[i]) {
      body += text("      const R ", name(int(i)), " = c", i, "[i];\n");
      continue;
    }
    body += "      " + instruction(int(i));
    bool read_later = false;
    for (int later = level + 1; later < walks_ && keeps; ++later) read_later = read_later || needs_of_walk(later)[i];
    if (!read_later) continue;
    before += text("    R c", i, "[", items, "];\n");
    body += text("      c", i, "[i] = ", name(int(i)), ";\n");
  }
  for (size_t i = 0; i < segment_.body.size(); ++i) {
    const Instruction& reduce = segment_.body[i];
    if (reduce.kind != Instruction::Kind::reduce || level_[i] != level + 1) continue;
    const std::string input = name(reduce.inputs[0]);
    if (reduce.op->name == "argmax") {
      before += text("    Best<R> b", i, ";\n");
      body += text("      b", i, ".take(", input, ", i64(r));\n");
      after += text("    const R ", name(int(i)), " = R(fold_best<", lanes_, ", ", outer ? per_block_ : 1, ", R>(b", i,
                    ", scratch));\n");
    } else {
      const std::string fold = fold_name(*reduce.op);
      before += text("    R a", i, " = ", fold, "::start<R>();\n");
      body += text("      a", i, " = ", fold, "::join<R>(a", i, ", ", input, ");\n");
      after += text("    const R ", name(int(i)), " = ",
                    outer ? text("fold_apart<", fold, ", ", per_block_) : text("fold_neighbours<", fold, ", ", lanes_),
                    ", R>(a", i, ", scratch);\n");
    }
  }
  if (last) {
    const std::string whole = stores(Reach::full, "        ") + totals(Reach::full, "        ");
    if (!whole.empty()) body += text("      if (active) {\n", whole, "      }\n");
  }
  if (body.empty()) return before + after;
  return text(
      before, "#pragma unroll ", keeps ? items : 4, "\n    for (int i = 0; i < ", items,
      "; ++i) {\n      const i64 r = lane + i64(i) * ", lanes_, ";\n      if (r >= ", reduced_,
      ") break;\n      const i64 e = ", outer ? text("r * ", groups_, "ll + k") : text("k * ", reduced_, "ll + r"),
      ";\n      (void)e;\n", body, "    }\n", after);
}

}  // namespace neon::cuda
