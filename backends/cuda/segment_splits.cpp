// Folds of a segment whose groups several blocks share, as text: what each has added up, put down and taken up.
#include <algorithm>

#include "backends/cuda/segment_source.h"

namespace neon::cuda {

// Where a block's part of a reduction lies, of neighbour j: split by split, and there first all first neighbours, so
// that threads beside each other have theirs beside each other.
std::string SegmentWriter::partial(int reg, const char* split) const {
  return text("partials[", place_of(reg, false), " + (", split, " * ", width_, " + j) * ", groups_ / width_,
              "ll + first_k / ", width_, "]");
}

// The place of a reduction's first part, or of its first sum. All sums lie behind all parts.
int64_t SegmentWriter::place_of(int reg, bool sums) const {
  const int64_t n = std::ranges::find(reductions_, reg) - reductions_.begin();
  return first_partial_ + (sums ? int64_t(reductions_.size()) * splits_ + n : n * splits_) * groups_;
}

// Each block puts its parts of the reductions `which` down,
std::string SegmentWriter::put_parts(const std::vector<int>& which) const {
  std::string puts;
  for (int reg : which) puts += text("        ", partial(reg, "split"), " = h", reg, "[j];\n");
  return text("    if (active && lane == 0) {\n", for_width(puts, "      "), "    }\n");
}

// and who goes on takes all parts up, in the order of the splits.
std::string SegmentWriter::take_parts(const std::vector<int>& which) const {
  std::string takes;
  for (int reg : which) {
    const std::string fold = fold_name(*segment_.body[size_t(reg)].op);
    takes += for_width(text("      a", reg, "[j] = ", fold, "::start<R>();\n"), "      ");
    takes += text("#pragma unroll 8\n      for (int s = lane; s < ", splits_, "; s += ", lanes_, ") {\n",
                  for_width(text("        a", reg, "[j] = ", fold, "::join<R>(a", reg, "[j], __ldcg(&",
                                 partial(reg, "s"), "));\n"),
                            "        "),
                  "      }\n", fold_of_lanes(reg));
  }
  return takes;
}

// The last of the blocks that share columns goes on.
std::string SegmentWriter::split_folds() const {
  return text(put_parts(reductions_), "    if (is_last_of(ticket + ", first_ticket_, " + bundle, ", splits_, ")) {\n",
              take_parts(reductions_));
}

// Blocks of a bundle add up their parts: a warp for each number, its lanes for the splits.
std::string SegmentWriter::sums_of_parts(const std::vector<int>& which) const {
  const int64_t across = per_block_ / width_, packs = groups_ / width_;
  std::string out;
  for (size_t i = 0; i < which.size(); ++i) {
    const std::string fold = fold_name(*segment_.body[size_t(which[i])].op);
    const int64_t turn = int64_t(i) * splits_ / int64_t(which.size());  // so that other blocks begin with the next
    out += text("    for (int n = (split + ", turn, ") % ", splits_, " * (kThreads / 32) + threadIdx.x / 32; n < ",
                across * width_, "; n += ", splits_, " * (kThreads / 32)) {\n      const int pack = bundle * ", across,
                " + n % ", across, ";\n      if (pack >= ", packs, ") continue;\n      const int at = n / ", across,
                " * ", packs, " + pack;\n      R sum = ", fold, "::start<R>();\n#pragma unroll 8\n",
                "      for (int s = threadIdx.x % 32; s < ", splits_, "; s += 32) sum = ", fold,
                "::join<R>(sum, __ldcg(&partials[", place_of(which[i], false), " + s * ", groups_,
                "ll + at]));\n      sum = fold_neighbours<", fold, ", 32, R>(sum, scratch);\n",
                "      if (threadIdx.x % 32 == 0) partials[", place_of(which[i], true), " + at] = sum;\n    }\n");
  }
  return out;
}

std::string SegmentWriter::take_sums(const std::vector<int>& which) const {
  std::string takes;
  for (int reg : which)
    takes += text("      h", reg, "[j] = __ldcg(&partials[", place_of(reg, true), " + j * ", groups_ / width_,
                  "ll + first_k / ", width_, "]);\n");
  return for_width(takes, "    ");
}

// All of them go on, once they all have done walk `level`.
std::string SegmentWriter::shared_folds(int level) const {
  const std::vector<int> these = folds_of(level);
  if (these.empty()) return "";
  const int64_t of_level = meets_twice() ? 2 : 1;
  const auto meeting = [&](int64_t n) {
    const bool last = level == last_folding_ && n == of_level;
    return text("    meet<", last, ">(ticket + ", first_ticket_, " + bundle, ", splits_ * (of_level * level + n),
                ");\n");
  };
  if (!meets_twice()) return text(put_parts(these), meeting(1), take_parts(these));
  return text(put_parts(these), meeting(1), sums_of_parts(these), meeting(2), take_sums(these));
}

}  // namespace neon::cuda
