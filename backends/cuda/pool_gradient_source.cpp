#include "backends/cuda/pool_gradient_source.h"

#include <algorithm>
#include <map>

#include "backends/cuda/pixel_code.h"
#include "backends/cuda/pool_gradient_tiles.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostSums = 32;  // numbers that a thread collects at once, in registers
// For sums: blocks of a processor; tiles of a thread, below which there are fewer blocks; threads with neighbouring
// channels.
constexpr int kSummingBlocks = 4, kWalkingBlocks = 2, kTilesOfThread = 4;
constexpr int64_t kLanes = 8;          // 128 bytes
constexpr int64_t kMostOfElement = 4;  // of 3x3 windows with strides of 2

class PoolGradientWriter : PoolGradientTiles {
 public:
  PoolGradientWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        graph_(context.lowered.graph),
        walk_(kernel.folds() ? kernel.find(Attachment::Kind::folds) : kernel.find(Attachment::Kind::finish)),
        made_(walk_ ? walk_->value : kernel.outputs[0]),
        compute_(graph_.dtype(made_) == DType::f64 ? DType::f64 : DType::f32),
        code_(context, compute_),
        blocks_at_once_((walk_ ? kWalkingBlocks : kSummingBlocks) * context.processors) {}

  Source run() {
    if (walk_)
      for (const Value array : PixelCode::arrays_of(*walk_->code)) names_[array] = text("array", names_.size());
    choose_tile();
    const std::string thread = is_moved_ ? moved() : collected();
    const std::string body = sums() || walk_ ? in_shares(thread) : for_each_tile(thread);
    Source out =
        kernel_source(code_, compute_, "", body, blocks_, walk_ ? text("kThreads, ", kWalkingBlocks) : "kThreads");
    out.partial_bytes = partial_bytes_;
    out.tickets = tickets_;
    return out;
  }

 private:
  // Sums of each channel that the kernel makes.
  size_t sums() const { return walk_ ? (kernel_.folds() ? kernel_.outputs.size() : 0) : kernel_.outputs.size() - 1; }

  void choose_tile() {
    const Windows windows = windows_of(kernel_.attributes, kernel_.attributes.integers("window"));
    const Shape &large = graph_.shape(made_), &small = graph_.shape(kernel_.inputs[0]);
    samples_ = large[0];
    for (size_t a = 0; a < windows.size.size(); ++a)
      axes_.push_back({.large = large[int(a) + 1],
                       .small = small[int(a) + 1],
                       .window = windows.size[a],
                       .stride = windows.strides[a],
                       .before = windows.before[a]});
    is_moved_ = !walk_ && std::ranges::none_of(axes_, &PoolAxis::overlaps);
    for (PoolAxis& axis : axes_) axis.tile = axis.stride;
    choose_width();
    for (PoolAxis& axis : axes_)
      if (axis.stride == 1 && axis.overlaps() && 2 * elements() * width_ <= kMostSums) axis.tile = 2;
    for (PoolAxis& axis : axes_) axis.tiles = quotient_up(axis.large, axis.tile);
    if (by_channel()) axes_.back().tiles = axes_.back().large / width_;
  }

  // Channels of a thread: as wide as an access goes, and as registers hold of all elements of a tile.
  void choose_width() {
    if (!by_channel()) return;
    std::vector<Value> arrays = walk_ ? std::vector{made_} : operands(kernel_);
    if (walk_) {
      for (const auto& [array, name] : names_) arrays.push_back(array);
      arrays.insert(arrays.end(), kernel_.inputs.begin(), kernel_.inputs.begin() + 2);
      if (kernel_.derivative()) arrays.push_back(kernel_.derivative()->value);
    }
    width_ = code_.neighbours(arrays);
    while (axes_.back().large % width_ || (width_ > 1 && !is_moved_ && width_ * elements() > kMostSums)) width_ /= 2;
  }

  std::string each() const { return text("#pragma unroll\n  for (int e = 0; e < ", width_, "; ++e) "); }

  // The gradient y of window o0, o1, ..., and the place that it goes to. y may have to go through the derivative.
  std::string given(bool needs_numbers) {
    const Value y = kernel_.inputs[0];
    std::string out = text("  const i64 from = ", place("o", &PoolAxis::small), ";\n  get_all<int, ",
                           device_type(graph_.dtype(kernel_.inputs[1])), ", ", width_, ">(",
                           code_.address(kernel_.inputs[1]), ", from, where);\n");
    if (!kernel_.derivative()) {
      if (is_moved_) out += text("  given = ", code_.pack(y, "from", width_), ";\n");
      if (needs_numbers) out += text("  ", code_.load_pack(y, "from", width_, "y"), ";\n");
      return out;
    }
    out += text("  R gate[", width_, "];\n  ", code_.load_pack(y, "from", width_, "y"), ";\n  ",
                code_.load_pack(kernel_.derivative()->value, "from", width_, "gate"), ";\n  ", each(),
                "y[e] = ", gated(), ";\n");
    if (is_moved_) out += text("  given = packed<", device_type(graph_.dtype(made_)), ">(y);\n");
    return out;
  }

  // Every element is of one window, or in a gap.
  std::string moved() {
    const Value x = kernel_.outputs[0];
    const std::string pack = code_.pack_type(x, width_);
    const std::string add = sums() ? "  if (where[e] == at) total[0][e] += y[e];\n" : "";
    const std::string element =
        text(place_in_window(), "  if (!sees || !inside) continue;\n  ", pack, " out;\n  ", each(),
             "{\n  out.at[e] = where[e] == at ? given.at[e] : ", device_type(graph_.dtype(x)), "{};\n", add, "  }\n  ",
             code_.store_packed(x, place("x", &PoolAxis::large), "out"), ";\n");
    return for_windows(text("  R y[", width_, "];\n  int where[", width_, "];\n  ", pack, " given;\n  (void)y;\n  ",
                            each(), "where[e] = -2;\n  if (there) {\n", given(sums()), "  }\n", for_elements(element)));
  }

  // Every element is the sum over the windows that see it.
  std::string collected() {
    const std::string index = element_of_tile();
    const std::string element =
        text(place_in_window(), "  if (sees)\n  ", each(), "if (where[e] == at) sum[", index, "][e] += y[e];\n");
    const std::string numbers = text("packed<", device_type(graph_.dtype(made_)), ">(sum[", index, "])"),
                      add = sums() ? text("  ", each(), "total[0][e] += sum[", index, "][e];\n") : "";
    const std::string end =
        walk_ ? text("  if (inside) {\n", walked(numbers), "  }\n")
              : text(add, "  if (inside) ", code_.store_packed(made_, place("x", &PoolAxis::large), numbers), ";\n");
    const std::string seen = walk_ ? fetched() : given(true);
    return text(walk_ ? fetch() : "", "  R sum[", elements(), "][", width_, "] = {};\n",
                for_windows(text("  if (!there) continue;\n  R y[", width_, "];\n  int where[", width_, "];\n", seen,
                                 for_elements(text("  (void)inside;\n", element)))),
                for_elements(end));
  }

  // Reads all that a tile needs before its first use.
  std::string fetch() {
    const Value y = kernel_.inputs[0], where = kernel_.inputs[1], gate = gate_of_windows();
    std::string packs, windows, elements_of_tile;
    const auto take = [&](Value array, const char* name, int64_t count, std::string& loads, const char* number,
                          const char* from) {
      packs += text("  ", code_.pack_type(array, width_), " ", name, "[", count, "];\n");
      loads += text("  ", name, "[", number, "] = ", code_.pack(array, from, width_), ";\n");
    };
    take(y, "y_of", windows_of_tile(), windows, "window", "from");
    take(where, "where_of", windows_of_tile(), windows, "window", "from");
    if (gate) take(gate, "gate_of", windows_of_tile(), windows, "window", "from");
    for (const auto& [array, name] : names_)
      if (array != made_) take(array, text(name, "_of").c_str(), elements(), elements_of_tile, "element", "from");
    return text(packs,
                for_windows(text("  const i64 from = there ? ", place("o", &PoolAxis::small),
                                 " : 0;\n  const int window = ", window_of_tile(), ";\n", windows)),
                elements_of_tile.empty()
                    ? ""
                    : for_elements(text("  const i64 from = inside ? ", place("x", &PoolAxis::large),
                                        " : 0;\n  const int element = ", element_of_tile(), ";\n", elements_of_tile)));
  }

  // As given(), of what was read.
  std::string fetched() {
    std::string out = text("  const int window = ", window_of_tile(), ";\n  ", each(),
                           "where[e] = int(where_of[window].at[e]);\n  unpack<R>(y_of[window], y);\n");
    if (gate_of_windows())
      out +=
          text("  R gate[", width_, "];\n  unpack<R>(gate_of[window], gate);\n  ", each(), "y[e] = ", gated(), ";\n");
    return out;
  }

  Value gate_of_windows() const { return kernel_.derivative() ? kernel_.derivative()->value : Value{}; }
  // y[e] through the derivative.
  std::string gated() {
    Instruction derivative;
    derivative.op = kernel_.derivative()->op;
    derivative.inputs = {0, 1};
    return code_.call(derivative, [](int i) { return std::string(i ? "gate[e]" : "y[e]"); });
  }

  PixelCode pixel() { return PixelCode(*walk_->code, code_, "of_pixel"); }

  // Folds or finishes the `numbers` of an element, as they would be stored. Code that makes numbers of channels alone
  // has them stored with the first pixel, and single ones with the first number.
  std::string walked(const std::string& numbers) {
    std::string out = text("  const i64 own = ", place("x", &PoolAxis::large), ";\n");
    for (const auto& [array, name] : names_)
      out += text("  R ", name, "[", width_, "];\n  unpack<R>(",
                  array == made_ ? numbers : text(name, "_of[", element_of_tile(), "]"), ", ", name, ");\n");
    const Segment& segment = walk_->code->segments[0];
    std::string ends, stores;
    for (size_t n = 0; n < segment.stores.size(); ++n) {
      const Store& store = segment.stores[n];
      if (kernel_.folds())
        ends += text("      total[", n, "][j] += r", segment.body[size_t(store.reg)].inputs[0], ";\n");
      else if (store.reach == Reach::full) {
        out += text("  R out", n, "[", width_, "];\n");
        ends += text("      out", n, "[j] = r", store.reg, ";\n");
        stores += text("  ", code_.store_pack(store.value, "own", width_, text("out", n)), ";\n");
      } else {
        const bool one = store.reach == Reach::scalar;
        ends += text("      if (own ", one ? "+ j == 0" : "== c", ") {\n",
                     code_.store(store.value, one ? "0" : "c + j", text("r", store.reg), "        "), "      }\n");
      }
    }
    return text(out, "#pragma unroll\n  for (int j = 0; j < ", width_, "; ++j) {\n",
                pixel().each([&](Value array) { return names_.at(array); }), ends, "  }\n", stores);
  }

  std::string for_each_tile(const std::string& body) {
    const int64_t count = tiles(axes_.size());
    blocks_ = (count + kThreads - 1) / kThreads;
    const char* index = index_type(count);
    return text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", count, ") return;\n  ", index,
                " rest = ", index, "(k);\n", coordinates(axes_.size()), body);
  }

  // A block has some channels and a share of the tiles, a row of threads each.
  std::string in_shares(const std::string& body) {
    const int64_t lanes = axes_.back().tiles, of_block = std::min(lanes, kLanes), across = of_block * width_;
    const int64_t columns = quotient_up(lanes, of_block), rows = kThreads / of_block, count = tiles(last());
    const int64_t parts =
        std::clamp<int64_t>(count / (rows * kTilesOfThread), 1, std::max<int64_t>(blocks_at_once_ / columns, 1));
    blocks_ = columns * parts;
    const char* index = index_type(count + parts * rows);
    const std::string channel = text("t", last()), once = walk_ ? pixel().once(width_) : "";
    const std::string first =
        text("  const int c = min(", channel, ", ", axes_.back().large - width_, ");\n  (void)c;\n");
    return text("  const int column = blockIdx.x % ", columns, ", part = blockIdx.x / ", columns,
                ", row = threadIdx.x / ", of_block, ", ", channel, " = (column * ", of_block, " + int(threadIdx.x) % ",
                of_block, ") * ", width_, ";\n", walk_ ? first : "", once,
                sums() ? text("  R total[", sums(), "][", width_, "] = {};\n") : "", "  if (row < ", rows, " && ",
                channel, " < ", axes_.back().large, ")\n  for (", index, " tile = part * ", rows, " + row; tile < ",
                count, "; tile += ", parts * rows, ") {\n  ", index, " rest = tile;\n", coordinates(last()), body,
                "  }\n", sums() ? add_up(across, rows) + add_parts(across, columns, parts) : "");
  }

  // The block's sums.
  std::string add_up(int64_t across, int64_t rows) {
    std::string out = text("  __shared__ R folded[kThreads * ", width_, "];\n");
    for (size_t m = 0; m < sums(); ++m)
      out += text(m ? "  __syncthreads();\n" : "", "  if (row < ", rows, ")\n  ", each(), "folded[threadIdx.x * ",
                  width_, " + e] = total[", m, "][e];\n  __syncthreads();\n  for (int c = threadIdx.x; c < ", across,
                  "; c += kThreads) {\n    R sum = 0;\n    for (int r = 0; r < ", rows, "; ++r) sum += folded[r * ",
                  across, " + c];\n    partials[(i64(blockIdx.x) * ", sums(), " + ", m, ") * ", across,
                  " + c] = sum;\n  }\n");
    return out;
  }

  // By the last block of a column, several threads a channel where there are enough.
  std::string add_parts(int64_t across, int64_t columns, int64_t parts) {
    const int64_t shares = std::clamp<int64_t>(kThreads / across, 1, parts);
    tickets_ = int(1 + columns);
    partial_bytes_ = size_t(blocks_ * across) * sums() * size_of(compute_);
    std::string out = text("  if (!is_last_of(ticket + 1 + column, ", parts, ")) return;\n");
    for (size_t m = 0; m < sums(); ++m)
      out += text(m ? "  __syncthreads();\n" : "", "  for (int c = threadIdx.x; c < ", across * shares,
                  "; c += kThreads) {\n    R sum = 0;\n#pragma unroll 16\n    for (int p = c / ", across, "; p < ",
                  parts, "; p += ", shares, ") sum += __ldcg(partials + (i64(p * ", columns, " + column) * ", sums(),
                  " + ", m, ") * ", across, " + c % ", across,
                  ");\n    folded[c] = sum;\n  }\n  __syncthreads();\n  for (int c = threadIdx.x; c < ", across,
                  "; c += kThreads) {\n    const int channel = column * ", across,
                  " + c;\n    R sum = 0;\n    for (int s = 0; s < ", shares, "; ++s) sum += folded[s * ", across,
                  " + c];\n    if (channel < ", axes_.back().large, ") {\n",
                  code_.store(kernel_.outputs[walk_ ? m : 1], "channel", "sum", "      "), "    }\n  }\n");
    return out;
  }

  const LoweredKernel& kernel_;
  const Graph& graph_;
  const Attachment* const walk_;  // which folds or finishes; or null
  const Value made_;              // pooling's gradient
  const DType compute_;
  CodeText code_;
  std::map<Value, std::string> names_;  // of the arrays that the walk's code reads
  bool is_moved_ = false;
  int tickets_ = 1;
  int64_t blocks_ = 1;
  size_t partial_bytes_ = 0;
  const int64_t blocks_at_once_;
};

}  // namespace

Source pool_gradient_source(const LoweredKernel& kernel, SourceContext& context) {
  return PoolGradientWriter(kernel, context).run();
}

bool walks_pooling(const LoweredKernel& pooling, const Graph& graph, const FusedKernel& folds,
                   const FusedKernel& finish) {
  const Value made = pooling.outputs[0];
  const Windows windows = windows_of(pooling.attributes, pooling.attributes.integers("window"));
  const bool by_channel = windows.size.back() == 1 && windows.strides.back() == 1 && windows.before.back() == 0;
  int64_t of_element = 1;  // windows, whose numbers registers hold
  for (size_t axis = 0; axis < windows.size.size(); ++axis)
    of_element *= quotient_up(windows.size[axis], windows.strides[axis]);
  const auto reads = [&](const FusedKernel& code) {
    const std::set<Value> arrays = PixelCode::arrays_of(code);
    return arrays.count(made) && std::ranges::all_of(arrays, [&](Value v) { return graph.dtype(v) != DType::f64; });
  };
  const auto& stores = finish.segments[0].stores;
  return by_channel && of_element <= kMostOfElement && graph.dtype(made) != DType::f64 &&
         graph.shape(made).elements() > 0 && reads(folds) && reads(finish) &&
         std::ranges::count(stores, Reach::full, &Store::reach) == 1;
}

}  // namespace neon::cuda
