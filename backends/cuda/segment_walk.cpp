// A walk of threads over the elements of their groups as text.
#include <algorithm>

#include "backends/cuda/segment_source.h"

namespace neon::cuda {

// The fold of a register over the lanes of a group: r of an inner fold, h of an outer one.
std::string SegmentWriter::fold_of_lanes(int reg) const {
  const Instruction& reduce = segment_.body[size_t(reg)];
  const bool outer = fold_ == Fold::outer, best = reduce.op->traits.reduction == Reduction::argmax;
  const int64_t across = per_block_ / width_;
  if (!outer)
    return best ? text("    const R r", reg, " = R(fold_best<", lanes_, ", 1, R>(b", reg, ", scratch));\n")
                : text("    const R r", reg, " = fold_neighbours<", fold_name(*reduce.op), ", ", lanes_, ", R>(a", reg,
                       ", scratch);\n");
  if (best)
    return for_width(
        text("      h", reg, "[j] = R(fold_best<", lanes_, ", ", across, ", R>(b", reg, "[j], scratch));\n"), "    ");
  const bool in_warps = across <= 32 && (across & (across - 1)) == 0;
  const std::string how = in_warps ? text("fold_apart<", fold_name(*reduce.op), ", ", across, ">")
                                   : text("fold_columns<", fold_name(*reduce.op), ", ", across, ", ", lanes_, ">");
  return text("    ", how, "(a", reg, ", scratch);\n",
              for_width(text("      h", reg, "[j] = a", reg, "[j];\n"), "    "));
}

// The variables with which folds of this level begin.
std::string SegmentWriter::fold_variables(int level) const {
  const bool outer = fold_ == Fold::outer;
  const std::string lanes = outer ? text("[", width_, "]") : "";
  std::string out;
  for (int reg : folds_of(level)) {
    const Instruction& reduce = segment_.body[size_t(reg)];
    if (outer) out += text("    R h", reg, lanes, ";\n");
    if (reduce.op->traits.reduction == Reduction::argmax) {
      out += text("    Best<R> b", reg, lanes, ";\n");
      continue;
    }
    const std::string start = text(" = ", fold_name(*reduce.op), "::start<R>();\n");
    out += text("    R a", reg, lanes, ";\n");
    out += outer ? for_width(text("      a", reg, "[j]", start), "    ") : text("    a", reg, start);
  }
  return out;
}

// The registers of this walk that later walks need, if they are few.
SegmentWriter::Needs SegmentWriter::kept_for_later(int level, const Needs& needs) const {
  Needs out(segment_.body.size(), false);
  for (int later = level + 1; later < walks_; ++later) {
    const Needs theirs = needs_of_walk(later);
    for (size_t i = 0; i < theirs.size(); ++i) out[i] = out[i] || (theirs[i] && needs[i]);
  }
  if (rows_of_thread() * width_ * std::ranges::count(out, true) > kMostKept) out.assign(out.size(), false);
  return out;
}

// One walk over the elements of the group: reductions of this level, and from the last of those on stores and totals.
std::string SegmentWriter::walk(int level, Needs& cached) {
  const Needs needs = needs_of_walk(level);
  if (folds_of(level).empty() && std::ranges::count(needs, true) == 0) return "";
  const Needs again = kept_for_later(level, needs);
  std::string variables, keep, folds;
  for (size_t i = 0; i < again.size(); ++i) {
    if (!again[i] || cached[i]) continue;
    variables += text("    R c", i, "[", rows_of_thread() * width_, "];\n");
    keep += text("        c", i, "[i * ", width_, " + j] = ", name(int(i)), ";\n");
  }
  for (int reg : folds_of(level)) folds += fold_of_lanes(reg);
  const std::string out = text(variables, fold_variables(level), rows(level, needs, cached, keep), folds);
  for (size_t i = 0; i < again.size(); ++i) cached[i] = cached[i] || again[i];
  return out;
}

// The loop of a walk over a thread's rows. Kept values need a place that the compiler knows as a number. Otherwise the
// loop ends where the rows end: without an exit in its middle, several rows are read before the first is needed.
std::string SegmentWriter::rows(int level, const Needs& needs, const Needs& cached, const std::string& keep) {
  const bool in_registers = !keep.empty() || std::ranges::count(cached, true) > 0;
  const int64_t count = rows_of_thread();
  if (in_registers) return rows_in_registers(level, needs, cached, keep);
  if (product_ && level == 0)  // a block takes tiles in turn, and its threads the rows of a tile
    return text("#pragma unroll 1\n    for (int turn = split; turn < ", product_plan().value().tiles(),
                "; turn += ", splits_, ") {\n    const ", index_, " tile = ", index_,
                "(product.next());\n    const int rows0 = ", spare_threads() ? text("lane >= ", lanes_, " ? 0 : ") : "",
                "(int(min(i64(kRowsOfTile), ", reduced_, "ll - tile)) - lane + ", lanes_ - 1, ") / ", lanes_, ";\n",
                rows_between(0, needs, cached, "0", "rows0", false), "    }\n");
  const std::string ends = text("rows", level), first = first_of_split();
  const std::string out = text(
      "    const int ", ends, " = ", spare_threads() ? text("lane >= ", lanes_, " ? 0 : ") : "", "min(", count,
      ", int((", (reduced_ + along_ - 1) / along_ + row_step() - 1, "ll - (", first, "lane)) / ", row_step(), "));\n");
  if (!holds() || rows_held_ == count) return out + rows_between(level, needs, cached, "0", ends, holds());
  const std::string middle = text("held", level);
  const std::string held = rows_between(level, needs, cached, "0", middle, true),
                    others = rows_between(level, needs, cached, middle, ends, false);
  return text(out, "    const int ", middle, " = min(", rows_held_, ", ", ends, ");\n",
              goes_back(level) ? others + held : held + others);
}

// Every other walk goes back: what the one before has read last is still in the cache.
bool SegmentWriter::goes_back(int level) const { return meets_ && level % 2 == 1; }

static std::string for_rows(int at_once) {
  return text("#pragma unroll\n      for (int u = 0; u < ", at_once, "; ++u) {\n");
}

// All rows of a thread, whose kept values have places that the compiler knows. A row that is not there is fetched in
// the shape of the last, and not used.
std::string SegmentWriter::rows_in_registers(int level, const Needs& needs, const Needs& cached,
                                             const std::string& keep) {
  const int64_t count = rows_of_thread();
  const int at_once = int(std::min<int64_t>(rows_at_once(level, needs, cached), count));
  const Loads loaded = loads(level, needs, cached, at_once);
  const bool all_there = !spare_threads() && count * row_step() * along_ == reduced_;
  const std::string ends = all_there ? ""
                                     : text("      if (first_r >= ", reduced_,
                                            spare_threads() ? text(" || lane >= ", lanes_) : "", ") break;\n");
  const std::string use = text(begins_at(row_place("i", level)), ends,
                               elements(needs, cached, level, keep, loaded.variables + at_first(loaded.reads)));
  if (at_once == 1)
    return text("#pragma unroll ", count, "\n    for (int i = 0; i < ", count, "; ++i) {\n", use, "    }\n");
  const std::string last =
      text("min(", index_, "(", row_place("n + u", level), "), ", index_, "(", reduced_ - along_, "))");
  return text("#pragma unroll ", (count + at_once - 1) / at_once, "\n    for (int n = 0; n < ", count,
              "; n += ", at_once, ") {\n", loaded.fetched, for_rows(at_once), begins_at(last), at_first(loaded.fetch),
              "      }\n", for_rows(at_once), "      const int i = n + u;\n      if (i >= ", count, ") break;\n", use,
              "      }\n    }\n");
}

// The rows of a thread from `from` up to `ends`. Rows that are fetched together are used without an exit in between:
// the compiler moves a fetch behind an exit, next to its use, and the thread then waits for each row by itself.
std::string SegmentWriter::rows_between(int level, const Needs& needs, const Needs& cached, const std::string& from,
                                        const std::string& ends, bool hold) {
  const int at_once = int(std::min<int64_t>(rows_at_once(level, needs, cached, hold), rows_of_thread()));
  const auto nth = [&](const std::string& n) {
    return goes_back(level) ? text(ends, " - 1 - (", n, " - ", from, ")") : n;
  };
  const auto use = [&](const std::string& n, const Loads& loaded) {
    return text("      const int i = ", nth(n), ";\n", begins_at(row_place("i", level)),
                elements(needs, cached, level, "", loaded.variables + at_first(loaded.reads), hold));
  };
  const auto one_by_one = [&](const std::string& begin, int unrolled) {
    return text("#pragma unroll ", unrolled, "\n    for (int n = ", begin, "; n < ", ends, "; ++n) {\n",
                use("n", loads(level, needs, cached, 1, hold)), "    }\n");
  };
  if (at_once == 1) return one_by_one(from, 4);
  const Loads loaded = loads(level, needs, cached, at_once, hold);
  return text("    {\n    int first = ", from, ";\n#pragma unroll 1\n    for (; first + ", at_once, " <= ", ends,
              "; first += ", at_once, ") {\n", loaded.fetched, for_rows(at_once),
              begins_at(row_place(nth("first + u"), level)), at_first(loaded.fetch), "      }\n", for_rows(at_once),
              use("first + u", loaded), "      }\n    }\n", one_by_one("first", 1), "    }\n");
}

}  // namespace neon::cuda
