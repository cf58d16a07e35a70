// A segment's elements as text: where each lies, what is computed of it, loads of neighbours at once, folds, stores.
#include "backends/cuda/segment_elements.h"

#include <algorithm>

#include "backends/cuda/spread_source.h"

namespace neon::cuda {

namespace {

constexpr int kWordsAtOnce = 48;  // registers for what is fetched and not used yet
constexpr int kMostRowsAtOnce = 4;
constexpr int kLeastShareHeld = 4;  // of tall columns' rows, one in so many or more: the cache is smaller then

}  // namespace

// Index along an axis, of group k or reduced index r.
std::string SegmentElements::coordinate(int axis) const {
  const bool reduced = segment_.reduced[size_t(axis)];
  const int64_t inner = inner_[size_t(axis)], side = reduced ? reduced_ : groups_, size = segment_.domain[axis];
  std::string out = reduced ? "r" : "k";
  if (inner > 1) out = text("(", out, " / ", inner, ")");
  return inner * size < side ? text("(", out, " % ", size, ")") : out;
}

// Sum of coordinates times strides; neighbouring axes of one side that are walked as one are taken together.
std::string SegmentElements::position(const std::vector<int64_t>& strides, bool skip_first) const {
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

std::string SegmentElements::placed(const Instruction& load) const {
  return load.first ? text(load.first, "ll + ", position(load.strides)) : position(load.strides);
}

std::string SegmentElements::value(int reg) const {
  const Instruction& i = segment_.body[size_t(reg)];
  if (i.kind == Instruction::Kind::load && !i.strides.empty()) {
    if (product_ && i.value == product_->result && i.reach == Reach::kept)
      return text("product.first_row(k - bundle * ", per_block_, ")");
    if (i.spread)
      return text("get<R, ", device_type(code_.type(i.value).dtype), ">(",
                  spread_pack(code_, i, segment_.domain, 1, [this](int axis) { return coordinate(axis); }), ".at, 0)");
    return code_.load(i.value, pack_place(i));
  }
  if (i.kind == Instruction::Kind::iota) return text("R(", segment_.domain[i.axis] > 1 ? coordinate(i.axis) : "0", ")");
  if (i.kind == Instruction::Kind::uniform && i.reach != Reach::scalar)
    return code_.uniform(i, i.reach == Reach::full ? "e" : "k");
  return code_.scalar_value(i, [](int input) { return name(input); });
}

std::string SegmentElements::instruction(int reg) const {
  return text("const R ", name(reg), " = ", value(reg), ";\n");
}

std::string SegmentElements::for_width(const std::string& body, const char* indent) const {
  return text("#pragma unroll\n", indent, "for (int j = 0; j < ", width_, "; ++j) {\n", body, indent, "}\n");
}

std::string SegmentElements::totals(Reach reach, int level, const char* indent) const {
  std::string out;
  for (size_t t = 0; t < segment_.totals.size(); ++t) {
    const Total& total = segment_.totals[t];
    if (segment_.body[size_t(total.reg)].reach == reach && (reach != Reach::full || store_level(total.reg) == level))
      out += text(indent, "t", t, " = ", fold_name(*total.op), "::join<R>(t", t, ", ", name(total.reg), ");\n");
  }
  return out;
}

// The place of an element, or of the first of a pack.
std::string SegmentElements::pack_place(const Instruction& i) const {
  return i.index ? code_.gathered(i.value, i.index, segment_.domain[0] > 1 ? coordinate(0) : "0", i.strides[0],
                                  position(i.strides, true))
                 : placed(i);
}

namespace {

// Whether neighbouring elements are drawn four at a time: a block of the stream has four.
bool draws_four(const Instruction& i, int width) {
  if (i.kind != Instruction::Kind::uniform || i.reach != Reach::full || width % 4 != 0) return false;
  const auto whole = [](int64_t numbers) { return numbers % 4 == 0; };
  return whole(i.places.first) && std::ranges::all_of(i.places.strides, whole) &&
         (i.places.lengths.empty() || i.places.lengths.back() % width == 0);
}

}  // namespace

// Where in the domain a thread's neighbouring elements begin.
std::string SegmentElements::first_element() const {
  if (fold_ != Fold::outer) return text("first_k * ", reduced_, " + first_r");
  if (row_ == groups_) return text("first_r * ", groups_, " + first_k");
  return text("(first_k / ", row_, " * ", reduced_, " + first_r) * ", row_, " + first_k % ", row_);
}

std::string SegmentElements::first_of_split() const {
  return splits_ > 1 ? text(index_, "(split) * ", lanes_, " + ") : "";
}

// Where row `i` of a thread begins. Walk 0 over a product counts the rows of a tile.
std::string SegmentElements::row_place(const std::string& i, int level) const {
  if (product_ && level == 0) return text("tile + lane + ", index_, "(", i, ") * ", lanes_);
  return text("(", first_of_split(), index_, "(lane) + ", index_, "(", i, ") * ", row_step(), ") * ", along_);
}

// The element that a row begins with, for the text that follows.
std::string SegmentElements::begins_at(const std::string& row) const {
  return text("      const ", index_, " first_r = ", row, ";\n      const ", index_, " first_e = ", first_element(),
              ";\n      (void)first_e;\n");
}

// A row's loads are all held, or none; of tall columns the first rows, as many as fit.
SegmentElements::SegmentElements(const Segment& segment, CodeText& code, int64_t busy_blocks, int64_t most_held,
                                 const RowProduct* product)
    : SegmentSpread(segment, code, busy_blocks, product) {
  held_.assign(segment_.body.size(), false);
  if (product) return;  // the memory is the product's
  const bool rows = fold_ == Fold::inner && lanes_ == kThreads, columns = fold_ == Fold::outer && meets_;
  if ((!rows && !columns) || width_ == 1 || rows_of_thread() * width_ <= kMostKept) return;
  Needs found = held_;
  int64_t bytes = 0;
  rows_held_ = 1;
  for (int n = 0; n < int(found.size()); ++n) {
    int walks = 0;
    for (int level = 0; level < walks_; ++level) walks += needs_of_walk(level)[size_t(n)];
    const bool pack = is_full_load(n) && access(segment_.body[size_t(n)], width_) == Access::pack;
    found[size_t(n)] = walks > 1 && (pack || put_early_[size_t(n)]);
    if (found[size_t(n)]) bytes += bytes_held(n);
  }
  if (bytes == 0) return;
  rows_held_ =
      rows ? rows_of_thread() : std::min(most_held / bytes, rows_of_thread()) / kMostRowsAtOnce * kMostRowsAtOnce;
  if (columns && rows_held_ * kLeastShareHeld < rows_of_thread()) return;
  if (rows_held_ > 0 && rows_held_ * bytes <= most_held) held_ = found;
}

Value SegmentElements::read_value(int reg) const {
  return put_early_[size_t(reg)] ? put_early_[size_t(reg)] : segment_.body[size_t(reg)].value;
}

int64_t SegmentElements::bytes_held(int reg) const {
  return rows_held_ * kThreads * width_ * int64_t(size_of(code_.type(read_value(reg)).dtype));
}

int64_t SegmentElements::held_bytes() const {
  int64_t bytes = product_ ? product_plan().value().shared_bytes() : 0;
  for (int n = 0; n < int(held_.size()); ++n)
    if (held_[size_t(n)]) bytes += bytes_held(n);
  return bytes;
}

// Whether a walk before that of `level` has put what register `reg` loads into shared memory.
bool SegmentElements::is_held_before(int reg, int level) const {
  bool found = false;
  for (int before = 0; before < level && held_[size_t(reg)]; ++before)
    found = found || needs_of_walk(before)[size_t(reg)];
  return found;
}

// The place in shared memory of the pack that register `reg` loads of a thread's row i.
std::string SegmentElements::held_pack(int reg) const {
  int64_t first = 0;
  for (int other = 0; other < reg; ++other)
    if (held_[size_t(other)]) first += bytes_held(other);
  return text("reinterpret_cast<", code_.pack_type(read_value(reg), width_), "*>(held + ", first,
              ")[i * kThreads + threadIdx.x].words");
}

// Lines that read a pack of the product that the block has just made, for register n; `across` threads share a row.
static void read_made(auto& out, int n, const std::string& type, int64_t across, int at_once) {
  const std::string made = text("product.pack(int(first_r - tile), threadIdx.x % ", across, ")");
  const std::string pack = at_once > 1 ? text("fetched", n, "[u]") : text("pack", n);
  out.variables += text("      R l", n, "[8];\n");
  if (at_once > 1) {
    out.fetched += text("      ", type, " fetched", n, "[", at_once, "];\n");
    out.fetch += text("        ", pack, ".words = ", made, ";\n");
  } else {
    out.reads += text("        ", type, " ", pack, ";\n        ", pack, ".words = ", made, ";\n");
  }
  out.reads += text("        unpack<R>(", pack, ", l", n, ");\n");
}

// The loads for all of a thread's neighbouring elements at once; k, r and e belong to the first element. If several
// rows are fetched before the first is used, `fetch` reads row u.
SegmentElements::Loads SegmentElements::loads(int level, const Needs& needs, const Needs& cached, int at_once,
                                              bool hold) {
  Loads out;
  for (size_t n = 0; n < segment_.body.size(); ++n) {
    const Instruction& i = segment_.body[n];
    if (!needs[n] || cached[n] || width_ == 1) continue;
    if (draws_four(i, width_)) {
      out.variables += text("      float l", n, "[", width_, "];\n");
      out.reads += text("        ", code_.uniform_pack(i, "e", text("l", n)), ";\n");
    }
    const bool put = is_put_before(int(n), level);
    if (!put && (!is_full_load(int(n)) || access(i, width_) == Access::each)) continue;
    const bool pack = put || access(i, width_) == Access::pack;
    const Value value = read_value(int(n));
    const bool spread = !put && i.spread;
    const std::string place = put ? "first_e" : pack && !spread ? pack_place(i) : "";
    const auto packed = [&] {
      if (!spread) return code_.pack(value, place, width_);
      return spread_pack(code_, i, segment_.domain, width_, [this](int axis) { return coordinate(axis); });
    };
    const bool held = hold && held_[n];
    if (is_made(int(n), level)) {
      read_made(out, int(n), code_.pack_type(value, width_), per_block_ / width_, at_once);
      if (stores_product())
        out.reads += text(
            "        if (active) ",
            code_.store_packed(value, "first_e", at_once > 1 ? text("fetched", n, "[u]") : text("pack", n)), ";\n");
      continue;
    }
    out.variables += text("      R l", n, pack ? text("[", width_, "]") : "", ";\n");
    if (held && is_held_before(int(n), level)) {
      const std::string type = code_.pack_type(value, width_);
      out.reads += text("        ", type, " pack", n, ";\n        pack", n, ".words = ", held_pack(int(n)),
                        ";\n        unpack<R>(pack", n, ", l", n, ");\n");
      continue;
    }
    if (at_once > 1) {
      out.fetched += text("      ", pack ? code_.pack_type(value, width_) : "R", " fetched", n, "[", at_once, "];\n");
      out.fetch += text("        fetched", n, "[u] = ", pack ? packed() : this->value(int(n)), ";\n");
      out.reads += pack ? text("        unpack<R>(fetched", n, "[u], l", n, ");\n")
                        : text("        l", n, " = fetched", n, "[u];\n");
      if (held) out.reads += text("        ", held_pack(int(n)), " = fetched", n, "[u].words;\n");
    } else if (held) {
      out.reads +=
          text("        const ", code_.pack_type(value, width_), " pack", n, " = ", packed(),
               ";\n        unpack<R>(pack", n, ", l", n, ");\n        ", held_pack(int(n)), " = pack", n, ".words;\n");
    } else {
      const std::string l = text("l", n);
      out.reads += spread ? text("        unpack<R>(", packed(), ", ", l, ");\n")
                   : pack ? text("        ", code_.load_pack(value, place, width_, l), ";\n")
                          : text("        l", n, " = ", this->value(int(n)), ";\n");
    }
  }
  return out;
}

// Rows that a thread fetches before it uses the first, in registers as they lie in memory: what it waits for most is
// the first of them. 1 where nothing is read in packs.
int SegmentElements::rows_at_once(int level, const Needs& needs, const Needs& cached, bool hold) const {
  int words = 0;
  for (size_t n = 0; n < segment_.body.size(); ++n)
    if (needs[n] && !cached[n] && !(hold && is_held_before(int(n), level)) && width_ > 1 &&
        (is_put_before(int(n), level) || (is_full_load(int(n)) && access(segment_.body[n], width_) == Access::pack)))
      words += std::max(1, int(size_of(code_.type(read_value(int(n))).dtype)) * width_ / 4);
  return words == 0 ? 1 : std::clamp(kWordsAtOnce / words, 1, kMostRowsAtOnce);
}

// The work of walk `level` on a thread's neighbouring elements from first_k, first_r, first_e on. `keep` comes last for
// each element.
std::string SegmentElements::elements(const Needs& needs, const Needs& cached, int level, const std::string& keep,
                                      const std::string& reads, bool hold) {
  const bool guarded = fold_ != Fold::none;
  const char* in = "        ";
  std::string body, variables, puts;
  for (size_t n = 0; n < segment_.body.size(); ++n) {
    const Instruction& i = segment_.body[n];
    if (!needs[n]) continue;
    if (cached[n]) {
      body += text(in, "const R ", name(int(n)), " = c", n, "[i * ", width_, " + j];\n");
      continue;
    }
    const bool drawn = draws_four(i, width_);
    const Access how = width_ > 1 && is_full_load(int(n)) ? access(i, width_) : Access::each;
    if (drawn || how == Access::pack || is_put_before(int(n), level))
      body += text(in, "const R ", name(int(n)), " = R(l", n, "[j]);\n");
    else if (how == Access::same) body += text(in, "const R ", name(int(n)), " = l", n, ";\n");
    else body += in + instruction(int(n));
  }
  for (int reg : folds_of(level)) {
    const Instruction& reduce = segment_.body[size_t(reg)];
    const std::string input = name(reduce.inputs[0]), lane = fold_ == Fold::outer ? "[j]" : "";
    if (reduce.op->traits.reduction == Reduction::argmax)
      body += text(in, "b", reg, lane, ".take(", input, ", i64(r));\n");
    else body += text(in, "a", reg, lane, " = ", fold_name(*reduce.op), "::join<R>(a", reg, lane, ", ", input, ");\n");
  }
  std::string whole;
  for (size_t s = 0; s < segment_.stores.size(); ++s) {
    const Store& store = segment_.stores[s];
    if (store.reach != Reach::full || store_level(store.reg) != level) continue;
    if (width_ == 1) {
      whole += code_.store(store.value, "e", name(store.reg), in);
    } else {
      variables += text("      R s", s, "[", width_, "];\n");
      whole += text(in, "s", s, "[j] = ", name(store.reg), ";\n");
      puts += text("      ", guarded ? "if (active) " : "",
                   code_.store_pack(store.value, "first_e", width_, text("s", s)), ";\n");
      if (hold && held_[size_t(store.reg)] && put_early_[size_t(store.reg)] == store.value)
        puts += text("      ", held_pack(store.reg), " = packed<", device_type(code_.type(store.value).dtype), ">(s", s,
                     ").words;\n");
    }
  }
  whole += totals(Reach::full, level, in);
  if (!whole.empty()) body += guarded ? text("        if (active) {\n", whole, "        }\n") : whole;
  body += keep;
  if (body.empty()) return "";
  const bool across = along_ == 1, outer = fold_ == Fold::outer;
  const std::string head =
      text("        const ", index_, " k = first_k", across ? " + j" : "", ", r = first_r", across ? "" : " + j",
           ", e = first_e + j;\n", "        (void)k, (void)r, (void)e;\n", outer ? kept_names(level) : "");
  return text(variables, reads, for_width(head + body, "      "), puts);
}

// Lines that read a thread's first element and its neighbours.
std::string SegmentElements::at_first(const std::string& reads) const {
  if (reads.empty()) return "";
  return text("      {\n        const ", index_, " k = first_k, r = first_r, e = first_e;\n",
              "        (void)k, (void)r, (void)e;\n", reads, "      }\n");
}

// Kept numbers of an outer fold, of which a thread has width_, under their names in a loop over them.
std::string SegmentElements::kept_names(int most_level) const {
  std::string out;
  for (size_t i = 0; i < segment_.body.size(); ++i)
    if (segment_.body[i].reach == Reach::kept && level_[i] <= most_level)
      out += text("        const R ", name(int(i)), " = h", i, "[j];\n        (void)", name(int(i)), ";\n");
  return out;
}

}  // namespace neon::cuda
