// The loops of a segment as text: without a fold, and over groups whose walks are in segment_walk.cpp.
#include <algorithm>

#include "backends/cuda/segment_source.h"

namespace neon::cuda {

std::string SegmentWriter::total_variables() const {
  std::string out;
  for (size_t t = 0; t < segment_.totals.size(); ++t)
    out += text("    R t", t, " = ", fold_name(*segment_.totals[t].op), "::start<R>();\n");
  return out;
}

std::string SegmentWriter::run() { return total_variables() + (fold_ == Fold::none ? flat() : grouped()); }

// Each thread takes width_ neighbouring elements.
std::string SegmentWriter::flat() {
  std::string scalars;
  for (size_t i = 0; i < segment_.body.size(); ++i)
    if (segment_.body[i].reach == Reach::scalar) scalars += "    " + instruction(int(i));
  return scalars + rounds(needs_of_walk(0)) + last_lines();
}

std::string SegmentWriter::rounds(const Needs& needs) {
  const Needs none(segment_.body.size(), false);
  const int at_once = int(std::min<int64_t>(packs_ > 1 ? rows_at_once(0, needs, none) : 1, packs_));
  const auto begin = [&](const std::string& round) {
    const std::string block = packs_ > 1 ? text("(", index_, "(", round, ") * ", bundles(), " + ", index_, "(block))")
                                         : text(index_, "(block)");
    return text("    const ", index_, " first_k = (", block, " * kThreads + threadIdx.x) * ", width_,
                ", first_e = first_k;\n    constexpr int first_r = 0;\n    (void)first_e, (void)first_r;\n");
  };
  const auto use = [&](const Loads& loaded) {
    return elements(needs, none, 0, "", loaded.variables + at_first(loaded.reads));
  };
  const Loads one = loads(0, needs, none, 1);
  const std::string body = use(one);
  if (body.empty()) return "";
  if (packs_ == 1) return text(begin("0"), "    if (first_k < ", groups_, ") {\n", body, "    }\n");
  const int64_t packs = (groups_ + width_ - 1) / width_, apart = bundles() * kThreads;
  const std::string count = text("    const int rounds = int((", packs + apart - 1,
                                 "ll - (block * kThreads + threadIdx.x)) / ", apart, ");\n    int first = 0;\n");
  const std::string rest = text("    for (; first < rounds; ++first) {\n", begin("first"), body, "    }\n");
  if (at_once == 1) return count + rest;
  const Loads several = loads(0, needs, none, at_once);
  const std::string each = text("#pragma unroll\n    for (int u = 0; u < ", at_once, "; ++u) {\n", begin("first + u"));
  return text(count, "    for (; first + ", at_once, " <= rounds; first += ", at_once, ") {\n", several.fetched, each,
              at_first(several.fetch), "    }\n", each, use(several), "    }\n    }\n#pragma unroll 1\n", rest);
}

// Numbers that there is only one of.
std::string SegmentWriter::last_lines() const {
  std::string once;
  for (const Store& store : segment_.stores)
    if (store.reach == Reach::scalar) once += code_.store(store.value, "0", name(store.reg), "      ");
  once += totals(Reach::scalar, 0, "      ");
  return once.empty() ? "" : text("    if (block == 0 && threadIdx.x == 0) {\n", once, "    }\n");
}

// The code that runs once a group, or just once, before walk `level`.
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

// The product of which the block is to take tiles.
std::string SegmentWriter::product() const {
  const RowProductPlan plan = product_plan().value();
  const auto array = [&](Value value) {
    const int64_t first = code_.context().lowered.placements[size_t(value.id)].first;
    return text("static_cast<const ", device_type(plan.dtype), "*>(", code_.address(value), ") + ", first);
  };
  bool first_row = false;
  for (const Instruction& i : segment_.body)
    first_row = first_row || (i.value == product_->result && i.reach == Reach::kept);
  return text("    ", plan.type(), " product(held, ", array(product_->rows), ", ", reduced_, ", split, ", splits_,
              ");\n    product.begin(", array(product_->weights), ", bundle * ", per_block_, ");\n",
              first_row ? "    product.find_first_row();\n" : "");
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
  const std::string spare = spare_threads() ? text(" && lane < ", lanes_) : "";
  out += text("    const bool active = group < ", groups_, spare, ";\n    const ", index_, " first_k = group < ",
              groups_, " ? group : ", groups_ - (outer ? width_ : 1), ";\n    (void)lane, (void)active;\n");
  if (!outer) out += text("    const ", index_, " k = first_k;\n    (void)k;\n");
  if (product_) out += product();
  Needs cached(segment_.body.size(), false);
  const bool split_ends = splits_ > 1 && !meets_ && walks_ > 1;  // the last block that shares a column goes on alone
  for (int level = 0; level < walks_; ++level) {
    if (level == 1 && split_ends) out += split_folds();
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
    out += text("    if (active && lane == 0", splits_ > 1 && !split_ends ? " && split == 0" : "", ") {\n", last,
                "    }\n");
  if (split_ends) out += "    }\n";
  return out + last_lines();
}

}  // namespace neon::cuda
