// Folds of a segment whose groups several blocks share, as text: what each has added up, put down and taken up.
#include <algorithm>

#include "backends/cuda/segment_source.h"

namespace neon::cuda {

// Where a block's part of a reduction lies, of neighbour j: split by split, and there first all first neighbours, so
// that threads beside each other have theirs beside each other.
std::string SegmentWriter::partial(int reg, const char* split) const {
  const auto n = std::ranges::find(reductions_, reg) - reductions_.begin();
  return text("partials[", first_partial_ + n * splits_ * groups_, " + (", split, " * ", width_, " + j) * ",
              groups_ / width_, "ll + first_k / ", width_, "]");
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

// All of them go on, once they all have done walk `level`.
std::string SegmentWriter::shared_folds(int level) const {
  const std::vector<int> these = folds_of(level);
  if (these.empty()) return "";
  return text(put_parts(these), "    meet(ticket + ", first_ticket_, " + 2 * bundle, ", splits_ * (level + 1), ");\n",
              take_parts(these));
}

}  // namespace neon::cuda
