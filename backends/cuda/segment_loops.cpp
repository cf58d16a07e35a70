// The loops of a segment as text: loads of neighbouring elements at once, what is computed of each, folds, stores.
#include <algorithm>

#include "backends/cuda/segment_source.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostKept = 64;  // elements that one thread keeps in registers from walk to walk
constexpr int kWordsAtOnce = 48;   // registers for what is fetched and not used yet
constexpr int kMostRowsAtOnce = 4;

std::string name(int reg) { return text("r", reg); }

}  // namespace

std::string SegmentWriter::value(int reg) const {
  const Instruction& i = segment_.body[size_t(reg)];
  if (i.kind == Instruction::Kind::load && !i.strides.empty()) {
    if (!i.index) return code_.load(i.value, placed(i));
    return code_.gather(i.value, i.index, segment_.domain[0] > 1 ? coordinate(0) : "0", i.strides[0],
                        position(i.strides, true));
  }
  if (i.kind == Instruction::Kind::iota) return text("R(", segment_.domain[i.axis] > 1 ? coordinate(i.axis) : "0", ")");
  if (i.kind == Instruction::Kind::uniform && i.reach != Reach::scalar)
    return code_.uniform(i, i.reach == Reach::full ? "u64(e)" : "u64(k)");
  return code_.scalar_value(i, [](int input) { return name(input); });
}

std::string SegmentWriter::instruction(int reg) const { return text("const R ", name(reg), " = ", value(reg), ";\n"); }

std::string SegmentWriter::for_width(const std::string& body, const char* indent) const {
  return text("#pragma unroll\n", indent, "for (int j = 0; j < ", width_, "; ++j) {\n", body, indent, "}\n");
}

std::string SegmentWriter::totals(Reach reach, int level, const char* indent) const {
  std::string out;
  for (size_t t = 0; t < segment_.totals.size(); ++t) {
    const Total& total = segment_.totals[t];
    if (segment_.body[size_t(total.reg)].reach == reach && (reach != Reach::full || store_level(total.reg) == level))
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

// Where a pack of neighbouring elements begins.
std::string SegmentWriter::pack_place(const Instruction& i) {
  return i.index ? code_.gathered(i.value, i.index, segment_.domain[0] > 1 ? coordinate(0) : "0", i.strides[0],
                                  position(i.strides, true))
                 : placed(i);
}

// What is read for all of a thread's neighbouring elements at once; k, r and e are those of the first. Where several
// rows are fetched before the first of them is used, it is `fetch` that reads row u.
SegmentWriter::Loads SegmentWriter::loads(const Needs& needs, const Needs& cached, int at_once) {
  Loads out;
  for (size_t n = 0; n < segment_.body.size(); ++n) {
    const Instruction& i = segment_.body[n];
    if (!needs[n] || cached[n] || width_ == 1) continue;
    if (i.kind == Instruction::Kind::uniform && i.reach == Reach::full && width_ % 4 == 0) {
      out.variables += text("      float l", n, "[", width_, "];\n");
      out.reads += text("        ", code_.uniform_pack(i, "u64(e)", text("l", n)), ";\n");
    }
    if (!is_full_load(int(n)) || access(i, width_) == Access::each) continue;
    const bool pack = access(i, width_) == Access::pack;
    out.variables += text("      R l", n, pack ? text("[", width_, "]") : "", ";\n");
    if (at_once > 1) {
      out.fetched += text("      ", pack ? code_.pack_type(i.value, width_) : "R", " f", n, "[", at_once, "];\n");
      out.fetch +=
          text("        f", n, "[u] = ", pack ? code_.pack(i.value, pack_place(i), width_) : value(int(n)), ";\n");
      out.reads +=
          pack ? text("        unpack<R>(f", n, "[u], l", n, ");\n") : text("        l", n, " = f", n, "[u];\n");
    } else {
      out.reads += pack ? text("        ", code_.load_pack(i.value, pack_place(i), width_, text("l", n)), ";\n")
                        : text("        l", n, " = ", value(int(n)), ";\n");
    }
  }
  return out;
}

// Rows that a thread fetches before it uses the first, in registers as they lie in memory: what it waits for most is
// the first of them. 1 where nothing is read in packs.
int SegmentWriter::rows_at_once(const Needs& needs, const Needs& cached) const {
  int words = 0;
  for (size_t n = 0; n < segment_.body.size(); ++n)
    if (needs[n] && !cached[n] && width_ > 1 && is_full_load(int(n)) &&
        access(segment_.body[n], width_) == Access::pack)
      words += std::max(1, int(size_of(code_.type(segment_.body[n].value).dtype)) * width_ / 4);
  return words == 0 ? 1 : std::clamp(kWordsAtOnce / words, 1, kMostRowsAtOnce);
}

// What walk `level` does with a thread's neighbouring elements from first_k, first_r, first_e on; `keep` ends what is
// done with each.
std::string SegmentWriter::elements(const Needs& needs, const Needs& cached, int level, const std::string& keep,
                                    const std::string& reads) {
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
    const bool drawn = i.kind == Instruction::Kind::uniform && i.reach == Reach::full && width_ % 4 == 0;
    const Access how = width_ > 1 && is_full_load(int(n)) ? access(i, width_) : Access::each;
    if (drawn || how == Access::pack) body += text(in, "const R ", name(int(n)), " = R(l", n, "[j]);\n");
    else if (how == Access::same) body += text(in, "const R ", name(int(n)), " = l", n, ";\n");
    else body += in + instruction(int(n));
  }
  for (int reg : reductions_) {
    const Instruction& reduce = segment_.body[size_t(reg)];
    if (level_[size_t(reg)] != level + 1) continue;
    const std::string input = name(reduce.inputs[0]), lane = fold_ == Fold::outer ? "[j]" : "";
    if (reduce.op->name == "argmax") body += text(in, "b", reg, lane, ".take(", input, ", i64(r));\n");
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
std::string SegmentWriter::at_first(const std::string& reads) const {
  if (reads.empty()) return "";
  return text("      {\n        const ", index_, " k = first_k, r = first_r, e = first_e;\n",
              "        (void)k, (void)r, (void)e;\n", reads, "      }\n");
}

// Each thread takes width_ neighbouring elements.
std::string SegmentWriter::flat() {
  std::string scalars;
  for (size_t i = 0; i < segment_.body.size(); ++i)
    if (segment_.body[i].reach == Reach::scalar) scalars += "    " + instruction(int(i));
  return scalars + rounds(needs_of_walk(0)) + last_lines();
}

std::string SegmentWriter::rounds(const Needs& needs) {
  const Needs none(segment_.body.size(), false);
  const int at_once = int(std::min<int64_t>(packs_ > 1 ? rows_at_once(needs, none) : 1, packs_));
  const Loads loaded = loads(needs, none, at_once);
  const std::string body = elements(needs, none, 0, "", loaded.variables + at_first(loaded.reads));
  if (body.empty()) return "";
  auto place = [&](const std::string& round) {
    const std::string block = packs_ > 1 ? text("(", index_, "(", round, ") * ", bundles(), " + ", index_, "(block))")
                                         : text(index_, "(block)");
    return text("(", block, " * kThreads + threadIdx.x) * ", width_);
  };
  const std::string element =
      ", first_e = first_k;\n    constexpr int first_r = 0;\n    (void)first_e, (void)first_r;\n";
  auto use = [&](const std::string& round) {
    return text("    const ", index_, " first_k = ", place(round), element, "    if (first_k < ", groups_, ") {\n",
                body, "    }\n");
  };
  if (packs_ == 1) return use("0");
  if (at_once == 1) return text("    for (int i = 0; i < ", packs_, "; ++i) {\n", use("i"), "    }\n");
  // A pack that is not there is fetched in the shape of the last, and not used.
  const std::string each = text("#pragma unroll\n    for (int u = 0; u < ", at_once, "; ++u) {\n");
  return text("    for (int i0 = 0; i0 < ", packs_, "; i0 += ", at_once, ") {\n", loaded.fetched, each, "    const ",
              index_, " first_k = min(", index_, "(", place("i0 + u"), "), ", index_, "(", groups_ - width_, "))",
              element, at_first(loaded.fetch), "    }\n", each, use("i0 + u"), "    }\n    }\n");
}

// Numbers that there is only one of.
std::string SegmentWriter::last_lines() const {
  std::string once;
  for (const Store& store : segment_.stores)
    if (store.reach == Reach::scalar) once += code_.store(store.value, "0", name(store.reg), "      ");
  once += totals(Reach::scalar, 0, "      ");
  return once.empty() ? "" : text("    if (block == 0 && threadIdx.x == 0) {\n", once, "    }\n");
}

// Kept numbers of an outer fold, of which a thread has width_, under their names in a loop over them.
std::string SegmentWriter::kept_names(int most_level) const {
  std::string out;
  for (size_t i = 0; i < segment_.body.size(); ++i)
    if (segment_.body[i].reach == Reach::kept && level_[i] <= most_level)
      out += text("        const R ", name(int(i)), " = h", i, "[j];\n        (void)", name(int(i)), ";\n");
  return out;
}

// What is computed once a group, or just once, before walk `level`.
std::string SegmentWriter::kept(int level) const {
  std::string once, variables, each;
  for (size_t n = 0; n < segment_.body.size(); ++n) {
    const Instruction& i = segment_.body[n];
    const bool reduces = i.kind == Instruction::Kind::reduce;
    if (level_[n] != level || i.reach == Reach::full) continue;
    if (i.reach == Reach::scalar || fold_ == Fold::inner) {
      if (!reduces) once += "    " + instruction(int(n));
    } else if (reduces) {
      each += text("      const R ", name(int(n)), " = h", n, "[j];\n      (void)", name(int(n)), ";\n");
    } else {
      variables += text("    R h", n, "[", width_, "];\n");
      each += text("      ", instruction(int(n)), "      h", n, "[j] = ", name(int(n)), ";\n");
    }
  }
  if (variables.empty()) return once;
  return text(
      once, variables,
      for_width(text("      const ", index_, " k = first_k + j;\n      (void)k;\n", kept_names(level - 1), each),
                "    "));
}

std::string SegmentWriter::grouped() {
  const bool outer = fold_ == Fold::outer;
  const int64_t across = per_block_ / (outer ? width_ : 1);
  std::string out;
  if (splits_ > 1)
    out += text("    const int bundle = int(block) / ", splits_, ", split = int(block) % ", splits_, ";\n");
  const std::string bundle = splits_ > 1 ? "bundle" : text(index_, "(block)");
  if (outer)
    out += text("    const ", index_, " group = (", bundle, " * ", across, " + threadIdx.x % ", across, ") * ", width_,
                ";\n    const int lane = threadIdx.x / ", across, ";\n");
  else
    out += text("    const ", index_, " group = ", bundle, " * ", per_block_, " + threadIdx.x / ", lanes_,
                ";\n    const int lane = threadIdx.x % ", lanes_, ";\n");
  out += text("    const bool active = group < ", groups_, ";\n    const ", index_,
              " first_k = active ? group : ", groups_ - (outer ? width_ : 1), ";\n    (void)lane, (void)active;\n");
  if (!outer) out += text("    const ", index_, " k = first_k;\n    (void)k;\n");
  Needs cached(segment_.body.size(), false);
  for (int level = 0; level < walks_; ++level) {
    if (level == 1 && splits_ > 1 && !meets_) out += split_folds();
    out += kept(level) + walk(level, cached);
    if (meets_) out += shared_folds(level);
  }
  const char* in = "      ";
  std::string last;
  for (const Store& store : segment_.stores)
    if (store.reach == Reach::kept) last += code_.store(store.value, "k", name(store.reg), in);
  last += totals(Reach::kept, 0, in);
  if (!last.empty() && outer)
    last = for_width(text("      const ", index_, " k = first_k + j;\n", kept_names(walks_), last), in);
  if (!last.empty())
    out += text("    if (active && lane == 0", meets_ ? " && split == 0" : "", ") {\n", last, "    }\n");
  if (meets_)
    out += text("    if (is_last_of(ticket + ", first_ticket_, " + 2 * bundle + 1, ", splits_,
                ") && threadIdx.x == 0) ticket[", first_ticket_, " + 2 * bundle] = 0;\n");
  else if (splits_ > 1 && walks_ > 1) out += "    }\n";
  return out + last_lines();
}

// The fold of a register over the lanes of a group: r of an inner fold, h of an outer one.
std::string SegmentWriter::fold_of_lanes(int reg) const {
  const Instruction& reduce = segment_.body[size_t(reg)];
  const bool outer = fold_ == Fold::outer, best = reduce.op->name == "argmax";
  const int64_t across = per_block_ / width_;
  if (!outer)
    return best ? text("    const R r", reg, " = R(fold_best<", lanes_, ", 1, R>(b", reg, ", scratch));\n")
                : text("    const R r", reg, " = fold_neighbours<", fold_name(*reduce.op), ", ", lanes_, ", R>(a", reg,
                       ", scratch);\n");
  if (best)
    return for_width(
        text("      h", reg, "[j] = R(fold_best<", lanes_, ", ", across, ", R>(b", reg, "[j], scratch));\n"), "    ");
  return text("    fold_apart<", fold_name(*reduce.op), ", ", across, ">(a", reg, ", scratch);\n",
              for_width(text("      h", reg, "[j] = a", reg, "[j];\n"), "    "));
}

// Where a block's part of reduction n lies, of neighbour j: split by split, and there first all first neighbours, so
// that threads beside each other have theirs beside each other.
std::string SegmentWriter::partial(int n, const char* split) const {
  return text("partials[", first_partial_ + int64_t(n) * splits_ * groups_, " + (", split, " * ", width_, " + j) * ",
              groups_ / width_, "ll + first_k / ", width_, "]");
}

// Each block puts its parts of the reductions `which` down,
std::string SegmentWriter::put_parts(const std::vector<int>& which) const {
  std::string puts;
  for (int n : which) puts += text("        ", partial(n, "split"), " = h", reductions_[size_t(n)], "[j];\n");
  return text("    if (active && lane == 0) {\n", for_width(puts, "      "), "    }\n");
}

// and who goes on takes all parts up, in the order of the splits.
std::string SegmentWriter::take_parts(const std::vector<int>& which) const {
  std::string takes;
  for (int n : which) {
    const int reg = reductions_[size_t(n)];
    const std::string fold = fold_name(*segment_.body[size_t(reg)].op);
    takes += for_width(text("      a", reg, "[j] = ", fold, "::start<R>();\n"), "      ");
    takes += text(
        "#pragma unroll 8\n      for (int s = lane; s < ", splits_, "; s += ", lanes_, ") {\n",
        for_width(text("        a", reg, "[j] = ", fold, "::join<R>(a", reg, "[j], __ldcg(&", partial(n, "s"), "));\n"),
                  "        "),
        "      }\n", fold_of_lanes(reg));
  }
  return takes;
}

// The last of the blocks that share columns goes on.
std::string SegmentWriter::split_folds() const {
  std::vector<int> all;
  for (size_t n = 0; n < reductions_.size(); ++n) all.push_back(int(n));
  return text(put_parts(all), "    if (is_last_of(ticket + ", first_ticket_, " + bundle, ", splits_, ")) {\n",
              take_parts(all));
}

// All of them go on, once they all have done walk `level`.
std::string SegmentWriter::shared_folds(int level) const {
  std::vector<int> these;
  for (size_t n = 0; n < reductions_.size(); ++n)
    if (level_[size_t(reductions_[n])] == level + 1) these.push_back(int(n));
  if (these.empty()) return "";
  return text(put_parts(these), "    meet(ticket + ", first_ticket_, " + 2 * bundle, ", splits_ * (level + 1), ");\n",
              take_parts(these));
}

// One walk over the elements of the group: reductions of this level, and from the last of those on stores and totals.
std::string SegmentWriter::walk(int level, Needs& cached) {
  const bool outer = fold_ == Fold::outer;
  const Needs needs = needs_of_walk(level);
  const bool folds = std::ranges::any_of(reductions_, [&](int reg) { return level_[size_t(reg)] == level + 1; });
  if (!folds && std::ranges::count(needs, true) == 0) return "";
  // What later walks need of this one's registers, if it is little.
  Needs again(segment_.body.size(), false);
  for (int later = level + 1; later < walks_; ++later) {
    const Needs theirs = needs_of_walk(later);
    for (size_t i = 0; i < theirs.size(); ++i) again[i] = again[i] || (theirs[i] && needs[i]);
  }
  const int64_t rows = splits_ > 1 ? rows_of_split() : reduced_, count = splits_ > 1 ? rows / lanes_ : items();
  const int64_t elements_each = count * width_;
  const bool keeps = elements_each * std::ranges::count(again, true) <= kMostKept;
  std::string before, after, keep;
  for (size_t i = 0; keeps && i < again.size(); ++i) {
    if (!again[i] || cached[i]) continue;
    before += text("    R c", i, "[", elements_each, "];\n");
    keep += text("        c", i, "[i * ", width_, " + j] = ", name(int(i)), ";\n");
  }
  for (int reg : reductions_) {
    const Instruction& reduce = segment_.body[size_t(reg)];
    if (level_[size_t(reg)] != level + 1) continue;
    const std::string lanes = outer ? text("[", width_, "]") : "";
    if (outer) before += text("    R h", reg, lanes, ";\n");
    if (reduce.op->name == "argmax") {
      before += text("    Best<R> b", reg, lanes, ";\n");
    } else {
      before += text("    R a", reg, lanes, ";\n");
      const std::string start = text(" = ", fold_name(*reduce.op), "::start<R>();\n");
      before += outer ? for_width(text("      a", reg, "[j]", start), "    ") : text("    a", reg, start);
    }
    after += fold_of_lanes(reg);
  }
  const bool in_registers = !keep.empty() || std::ranges::count(cached, true) > 0;
  const std::string first = splits_ > 1 ? text(index_, "(split) * ", rows, " + ") : "";
  // What is kept has its place by a number that the compiler knows. Elsewhere the loop ends where the rows do: without
  // a way out of its middle, several rows are read before the first is needed.
  std::string ends = text(count), way_out = text("      if (first_r >= ", reduced_, ") break;\n");
  if (!in_registers) {
    ends = text("rows", level);
    way_out = "";
    before += text("    const int ", ends, " = min(", count, ", int((", (reduced_ + along_ - 1) / along_ + lanes_ - 1,
                   "ll - (", first, "lane)) / ", lanes_, "));\n");
  }
  auto row = [&](const std::string& i) {
    return text("(", first, index_, "(lane) + ", index_, "(", i, ") * ", lanes_, ") * ", along_);
  };
  const std::string element = text(
      "      const ", index_,
      " first_e = ", outer ? text("first_r * ", groups_, " + first_k") : text("first_k * ", reduced_, " + first_r"),
      ";\n      (void)first_e;\n");
  const int at_once = int(std::min<int64_t>(rows_at_once(needs, cached), count));
  const Loads loaded = loads(needs, cached, at_once);
  const std::string body = elements(needs, cached, level, keep, loaded.variables + at_first(loaded.reads));
  std::string out = before;
  if (at_once == 1) {
    out += text("#pragma unroll ", in_registers ? count : 4, "\n    for (int i = 0; i < ", ends,
                "; ++i) {\n      const ", index_, " first_r = ", row("i"), ";\n", way_out, element, body, "    }\n");
  } else {
    // A row that is not there is fetched in the shape of the last, and not used.
    out += text("#pragma unroll ", in_registers ? (count + at_once - 1) / at_once : 1, "\n    for (int i0 = 0; i0 < ",
                ends, "; i0 += ", at_once, ") {\n", loaded.fetched, "#pragma unroll\n      for (int u = 0; u < ",
                at_once, "; ++u) {\n      const ", index_, " first_r = min(", index_, "(", row("(i0 + u)"), "), ",
                index_, "(", reduced_ - along_, "));\n", element, at_first(loaded.fetch),
                "      }\n#pragma unroll\n      for (int u = 0; u < ", at_once,
                "; ++u) {\n      const int i = i0 + u;\n      if (i >= ", ends, ") break;\n      const ", index_,
                " first_r = ", row("i"), ";\n", way_out, element, body, "      }\n    }\n");
  }
  out += after;
  for (size_t i = 0; keeps && i < again.size(); ++i) cached[i] = cached[i] || again[i];
  return out;
}

}  // namespace neon::cuda
