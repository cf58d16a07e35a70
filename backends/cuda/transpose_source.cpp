// Source of transpose. Axes that stay neighbours count as one. Where the last axis stays, its runs are copied; small
// matrices that follow each other go through shared memory whole; else tiles do (transpose.cuh). Where a tile
// would have few numbers, they are copied one by one.
#include <algorithm>
#include <bit>

#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

extern const char transpose_text[];
extern const unsigned long transpose_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kSharedBytes = 16384;  // of a block's numbers in shared memory
constexpr int64_t kLongestTile = 1024, kTileSide = 64, kLeastTile = kThreads;
constexpr int64_t kLongestSide = int64_t(1) << 31;

// An axis of the output: its size, and how far apart its numbers are in the input and in the output.
struct Axis {
  int64_t size, from, to;
};

class TransposeWriter : public OpWriter {
 public:
  TransposeWriter(const LoweredKernel& kernel, SourceContext& context)
      : OpWriter(kernel, context), most_(kSharedBytes / int64_t(size_of(compute_))) {
    find_axes();
  }

  Source run() {
    if (axes_.back().from == 1) return source(copies(width_of_runs()));
    if (volume_ <= most_) return source(matrices());
    return source(find_tile() ? tiles() : copies(1));
  }

 private:
  // Finds those of the output, in order, without size 1; neighbours in both arrays become one.
  void find_axes() {
    const auto& permutation = kernel_.attributes.integers("permutation");
    const auto from = dense_strides(input()), to = dense_strides(output());
    for (size_t i = 0; i < permutation.size(); ++i) {
      const Axis axis{output()[int(i)], from[size_t(permutation[i])], to[i]};
      if (axis.size == 1) continue;
      if (!axes_.empty() && axes_.back().from == axis.size * axis.from)
        axes_.back() = {axes_.back().size * axis.size, axis.from, axis.to};
      else axes_.push_back(axis);
    }
    if (axes_.empty()) axes_.push_back({1, 1, 1});
    volume_ = axes_[0].from == axes_[0].to && axes_.size() > 1 ? axes_[0].to : output().elements();
  }

  // The most neighbours of one access where it begins at a multiple of each of `places`.
  int width(Value value, const std::vector<int64_t>& places) const {
    int out = code_.context().recorded.count(value.id) ? 1 : code_.neighbours({value});
    for (int64_t place : places)
      while (place % out) out /= 2;
    return out;
  }
  std::string read(int count) {
    const Value x = kernel_.inputs[0];
    return count > 1 ? code_.load_pack(x, "from", count, "x") + ";" : text("x[0] = ", code_.load(x, "from"), ";");
  }
  std::string write(int count) {
    const Value y = kernel_.outputs[0];
    return count > 1 ? code_.store_pack(y, "to", count, "x") + ";" : code_.store(y, "to", "x[0]", "");
  }
  static std::string number(const char* name, int64_t value) {
    return text("  constexpr i64 ", name, " = ", value, ";\n");
  }
  static std::string whole(const char* name, int64_t value) {
    return text("  constexpr int ", name, " = ", value, ";\n");
  }
  static std::string section(std::string_view name) {
    const std::string_view all(transpose_text, transpose_text_size);
    const std::string head = text("//: ", name, "\n");
    const size_t begin = all.find(head) + head.size();
    return std::string(all.substr(begin, all.find("//: ", begin) - begin));
  }
  // The place that index `index` of the axes `of` has by one of their strides.
  static std::string place(const char* index, const std::vector<Axis>& of, int64_t Axis::*stride) {
    std::vector<int64_t> sizes, strides;
    for (const Axis& axis : of) sizes.push_back(axis.size), strides.push_back(axis.*stride);
    return text("(", place_of(index, Shape(sizes), strides), ")");
  }

  int width_of_runs() const {
    std::vector<int64_t> places = {axes_.back().size};
    for (size_t i = 0; i + 1 < axes_.size(); ++i) places.push_back(axes_[i].from);
    return std::min(width(kernel_.inputs[0], places), width(kernel_.outputs[0], places));
  }
  // A thread for `count` neighbours.
  std::string copies(int count) {
    std::vector<Axis> packs = axes_;
    packs.back() = {axes_.back().size / count, axes_.back().from * count, count};
    const char* const index = output().elements() < (int64_t(1) << 31) ? "u32(k)" : "k";
    const std::string reads = read(count), writes = write(count);
    return for_each(output().elements() / count,
                    text("  const i64 to = k * ", count, ", from = ", place(index, packs, &Axis::from), ";\n  R x[",
                         count, "];\n  ", reads, "\n  ", writes, "\n"));
  }

  std::string matrices() {
    const int64_t all = output().elements();
    int64_t count = std::min(most_ / volume_, all / volume_);
    if (count >= 8) count = count / 8 * 8;  // so that each block's numbers begin where a wide access may
    const int in = width(kernel_.inputs[0], {count * volume_, all}),
              out = width(kernel_.outputs[0], {count * volume_, all});
    blocks_ = quotient_up(all, count * volume_);
    std::string body = section("matrices");
    std::vector<Axis> inner = axes_;
    if (volume_ < all) inner.erase(inner.begin());
    replace_word(body, "READ", read(in));
    replace_word(body, "WRITE", write(out));
    replace_word(body, "PLACE", place("at", inner, &Axis::from));
    return text(whole("kMatrices", count), whole("kVolume", volume_), whole("kIn", in), whole("kOut", out),
                number("kAll", all), body);
  }

  // Chooses the sides of a tile. False where most of a block would have nothing to do, or where an axis needs an index
  // of 64 bits.
  bool find_tile() {
    const auto power = [](int64_t size) { return int64_t(std::bit_ceil(uint64_t(size))); };
    contiguous_ = size_t(std::ranges::find(axes_, int64_t(1), &Axis::from) - axes_.begin());
    const int64_t a = power(axes_[contiguous_].size), b = power(axes_.back().size);
    along_a_ = std::min(a, kTileSide), along_b_ = std::min({b, kTileSide, most_ / along_a_});
    // Beside a short side the other is longer.
    if (along_a_ < kTileSide) along_b_ = std::min({b, most_ / along_a_, kLongestTile});
    else if (along_b_ < kTileSide) along_a_ = std::min({a, most_ / along_b_, kLongestTile});
    return along_a_ * along_b_ >= kLeastTile && std::max(a, b) < kLongestSide;
  }

  std::string tiles() {
    const Axis a = axes_[contiguous_], b = axes_.back();
    std::vector<Axis> outer;
    std::vector<int64_t> from = {a.size, b.from}, to = {b.size, a.to};
    for (size_t i = 0; i + 1 < axes_.size(); ++i)
      if (i != contiguous_) outer.push_back(axes_[i]), from.push_back(axes_[i].from), to.push_back(axes_[i].to);
    const int in = std::min<int>(width(kernel_.inputs[0], from), int(along_a_)),
              out = std::min<int>(width(kernel_.outputs[0], to), int(along_b_));
    const int64_t tiles_a = quotient_up(a.size, along_a_), tiles_b = quotient_up(b.size, along_b_);
    blocks_ = output().elements() / (a.size * b.size) * tiles_a * tiles_b;
    std::string body = section("tile");
    replace_word(body, "READ", read(in));
    replace_word(body, "WRITE", write(out));
    replace_word(body, "OUTER_FROM", place("outer", outer, &Axis::from));
    replace_word(body, "OUTER_TO", place("outer", outer, &Axis::to));
    return text(whole("kA", along_a_), whole("kB", along_b_), whole("kIn", in), whole("kOut", out),
                whole("kAllA", a.size), whole("kAllB", b.size), whole("kTilesA", tiles_a), whole("kTilesB", tiles_b),
                number("kFromB", b.from), number("kToA", a.to), body);
  }

  const int64_t most_;  // numbers of a block
  std::vector<Axis> axes_;
  int64_t volume_ = 1;                 // of the matrices that follow each other in both arrays
  size_t contiguous_ = 0;              // the axis that is the input's last
  int64_t along_a_ = 1, along_b_ = 1;  // a tile's numbers along that axis, and along the output's last
};

const SourceRegistration transposes(ops::transpose, source_by<TransposeWriter>);

}  // namespace

}  // namespace neon::cuda
