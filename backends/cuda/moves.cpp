#include "backends/cuda/moves.h"

#include <algorithm>

#include "backends/cuda/code_text.h"
#include "backends/cuda/columns_source.h"
#include "backends/cuda/depth_source.h"
#include "backends/cuda/image_source.h"
#include "backends/cuda/pooled_product_source.h"
#include "backends/cuda/region_source.h"
#include "backends/cuda/window_source.h"
#include "backends/graph/histogram.h"
#include "neon/core/random.h"

extern const char product_text[];
extern const unsigned long product_text_size;

namespace neon::cuda {

namespace {

constexpr int kTile = 32;         // as in product.cuh
constexpr int64_t kBlocks = 264;  // that run at the same time on the GPUs at hand

constexpr int64_t kMostHistogramBlocks = 512;

// Row-major strides, in elements.
std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> out(size_t(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) out[size_t(axis)] = out[size_t(axis + 1)] * shape[axis + 1];
  return out;
}

// `index` of an element of `shape` as a place in an array walked by `strides`.
std::string place(const std::string& index, const Shape& shape, const std::vector<int64_t>& strides) {
  std::string out = "0";
  int64_t inner = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] > 1 && strides[size_t(axis)] != 0)
      out += text(" + ", index, " / ", inner, " % ", shape[axis], " * ", strides[size_t(axis)], "ll");
    inner *= std::max<int64_t>(shape[axis], 1);
  }
  return out;
}

class OpWriter {
 public:
  OpWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        context_(context),
        graph_(context.lowered.graph),
        code_(context, compute_of(kernel, context)),
        compute_(compute_of(kernel, context)) {}

  Source run() {
    const std::string& op = kernel_.op;
    std::string body;
    if (output().elements() == 0) body = "";
    else if (op == "transpose") body = transpose();
    else if (op == "slice") body = slice();
    else if (op == "concat") body = concat();
    else if (op == "scatter_add") body = scatter_add();
    else if (op == "sum" || op == "max" || op == "min" || op == "argmax") body = reduce();
    else if (op == "keyed_uniform") body = keyed_uniform();
    else if (op == "matmul") body = matmul();
    else if (op == "histogram") body = histogram();
    else if (op == "columns") return columns_source(kernel_, context_);
    else if (op == "pooled_convolution") return pooled_product_source(kernel_, context_);
    else if (op == "pooled_weight_gradient") return pooled_gradient_source(kernel_, context_);
    else if (is_depth_op(op)) return depth_source(kernel_, context_);
    else if (is_window_op(op)) return window_source(kernel_, context_);
    else if (is_region_op(op)) return region_source(kernel_, context_);
    else if (is_image_op(op)) return image_source(kernel_, context_);
    else fail(ErrorKind::failed, "op ", op, " has no kernel on the GPU yet; -b cpu runs it");
    const std::string_view product =
        op == "matmul" ? std::string_view(product_text, product_text_size) : std::string_view();
    Source out = kernel_source(code_, compute_, text(product, tables_), body, blocks_);
    out.partial_bytes = partial_bytes_;
    out.tickets = tickets_;
    return out;
  }

 private:
  static DType compute_of(const LoweredKernel& kernel, const SourceContext& context) {
    const Graph& graph = context.lowered.graph;
    bool wide = false;
    for (Value value : kernel.outputs)
      wide = wide || graph.dtype(value) == DType::i32 || graph.dtype(value) == DType::i64 ||
             graph.dtype(value) == DType::f64;
    for (Value value : kernel.inputs) wide = wide || graph.dtype(value) == DType::f64;
    return wide ? DType::f64 : DType::f32;
  }
  const Shape& input(size_t i = 0) const { return graph_.shape(kernel_.inputs[i]); }
  const Shape& output() const { return graph_.shape(kernel_.outputs[0]); }

  // `body` for each k below n.
  std::string for_each(int64_t n, const std::string& body) {
    blocks_ = (n + kThreads - 1) / kThreads;
    return text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", n, ") return;\n", body);
  }
  std::string put(const std::string& index, const std::string& number) {
    return code_.store(kernel_.outputs[0], index, number, "  ");
  }

  std::string transpose() {
    const auto& permutation = kernel_.attributes.integers("permutation");
    const auto from = dense_strides(input());
    std::vector<int64_t> strides;
    for (int64_t axis : permutation) strides.push_back(from[size_t(axis)]);
    return for_each(output().elements(), put("k", code_.load(kernel_.inputs[0], place("k", output(), strides))));
  }

  std::string keyed_uniform() {
    const int64_t columns = output()[1];
    const auto key = [&](int which) {
      return code_.integer(kernel_.inputs[0], text("k / ", columns, " * 2 + ", which));
    };
    return for_each(output().elements(),
                    put("k", text("uniform(", uint64_t(kernel_.attributes.integer("seed")), "ull, ",
                                  hash_name(kernel_.attributes.string("stream")), "ull, u64(", key(1), "), u64(",
                                  key(0), " * ", columns, " + k % ", columns, "))")));
  }

  // How many neighbours go in one access when every one of `runs` is copied in one piece.
  int width_of(const std::vector<int64_t>& runs) const {
    size_t widest = size_of(graph_.dtype(kernel_.outputs[0]));
    for (Value value : kernel_.inputs)
      if (code_.row_elements(value)) return 1;
    int width = int(kAccessBytes / widest);
    for (int64_t run : runs)
      while (run % width) width /= 2;
    return width;
  }
  // Unsigned arithmetic of 32 bits where the index fits: a division of 64 takes longer than the access.
  std::string index_type() const { return output().elements() < (int64_t(1) << 31) ? "u32" : "i64"; }
  std::string copy(const std::string& to, Value from, const std::string& place, int width) {
    return text("  R x[", width, "];\n  ", code_.load_pack(from, place, width, "x"), ";\n  ",
                code_.store_pack(kernel_.outputs[0], to, width, "x"), ";\n");
  }

  // Runs of all that follows the axis.
  std::string slice() {
    const int axis = int(kernel_.attributes.integer("axis"));
    const int64_t inner = dense_strides(input())[size_t(axis)], to = output()[axis] * inner,
                  from = input()[axis] * inner;
    const int64_t first = kernel_.attributes.integer("first") * inner;
    const int width = width_of({to, from, first});
    return for_each(
        output().elements() / width,
        text("  const ", index_type(), " e = ", index_type(), "(k) * ", width, ", run = e / ", to, ";\n",
             copy("e", kernel_.inputs[0], text(first, "ll + i64(run) * ", from, " + (e - run * ", to, ")"), width)));
  }

  std::string concat() {
    const int axis = int(kernel_.attributes.integer("axis"));
    const int64_t inner = dense_strides(output())[size_t(axis)], all = output()[axis] * inner;
    std::vector<int64_t> runs;
    for (size_t i = 0; i < kernel_.inputs.size(); ++i) runs.push_back(input(i)[axis] * inner);
    const int width = width_of(runs);
    std::string body = text("  const ", index_type(), " e = ", index_type(), "(k) * ", width, ", run = e / ", all,
                            ", at = e - run * ", all, ";\n");
    int64_t first = 0;
    for (size_t i = 0; i < kernel_.inputs.size(); ++i) {
      if (runs[i] == 0) continue;
      body += text("  if (at >= ", first, " && at < ", first + runs[i], ") {\n",
                   copy("e", kernel_.inputs[i], text("i64(run) * ", runs[i], " + (at - ", first, ")"), width), "  }\n");
      first += runs[i];
    }
    return for_each(output().elements() / width, body);
  }

  // A block for each row of the result: it looks for the indices that name the row, some at a time, and adds up their
  // values in the order in which they stand.
  std::string scatter_add() {
    const int64_t rows = output()[0], width = output().elements() / std::max<int64_t>(rows, 1), count = input(1)[0];
    blocks_ = rows;
    const std::string index = code_.integer(kernel_.inputs[1], "i");
    return text(
        "  __shared__ bool hit[kThreads];\n  const i64 row = blockIdx.x;\n  for (i64 c0 = 0; c0 < ", width,
        "; c0 += kThreads) {\n    const i64 c = c0 + threadIdx.x;\n    R sum = 0;\n    for (i64 first = 0; first < ",
        count,
        "; first += kThreads) {\n      const i64 i = first + threadIdx.x;\n      __syncthreads();\n      bool here = "
        "false;\n      if (i < ",
        count, ") {\n        const i64 named = ", index,
        ";\n        here = named == row;\n        if (blockIdx.x == 0 && c0 == 0 && (named < 0 || named >= ", rows,
        ")) ", code_.looked_up(kernel_.inputs[1], "i", rows),
        ";\n      }\n      hit[threadIdx.x] = here;\n      if (!__syncthreads_or(here)) continue;\n      if (c < ",
        width, ")\n        for (int j = 0; j < kThreads && first + j < ", count,
        "; ++j)\n          if (hit[j]) sum += ", code_.load(kernel_.inputs[0], text("(first + j) * ", width, "ll + c")),
        ";\n    }\n    if (c < ", width, ") {\n", put(text("row * ", width, "ll + c"), "sum"), "    }\n  }\n");
  }

  // A block for each result.
  std::string reduce() {
    const auto& axes = kernel_.attributes.integers("axes");
    const auto from = dense_strides(input());
    std::vector<int64_t> kept_sizes, kept_strides, sizes, strides;
    for (int axis = 0; axis < input().rank(); ++axis) {
      const bool reduced = std::ranges::count(axes, axis) > 0;
      (reduced ? sizes : kept_sizes).push_back(input()[axis]);
      (reduced ? strides : kept_strides).push_back(from[size_t(axis)]);
    }
    const Shape kept{std::span<const int64_t>(kept_sizes)}, reduced{std::span<const int64_t>(sizes)};
    blocks_ = kept.elements();
    const std::string element = reduced.elements() == 0
                                    ? "R(0)"
                                    : code_.load(kernel_.inputs[0], text("start + ", place("r", reduced, strides)));
    const std::string head =
        text("  __shared__ Scratch<R> scratch;\n  const i64 k = blockIdx.x, start = ", place("k", kept, kept_strides),
             ";\n  (void)start;\n");
    const std::string loop = text("  for (i64 r = threadIdx.x; r < ", reduced.elements(), "; r += kThreads) ");
    if (kernel_.op == "argmax")
      return text(
          head, "  Best<R> best;\n", loop, "best.take(", element,
          ", r);\n  const i64 at = fold_best<kThreads, 1, R>(best, scratch);\n  if (threadIdx.x != 0) return;\n",
          put("k", "R(at < 0 ? 0 : at)"));
    const std::string fold = kernel_.op == "sum" ? "FoldSum" : kernel_.op == "max" ? "FoldMax" : "FoldMin";
    return text(head, "  R x = ", fold, "::start<R>();\n", loop, "x = ", fold, "::join<R>(x, ", element,
                ");\n  x = fold_neighbours<", fold, ", kThreads, R>(x, scratch);\n  if (threadIdx.x != 0) return;\n",
                put("k", "x"));
  }

  // Each warp counts in a table of its own in shared memory, each block in one for the last block, which adds them up.
  std::string histogram() {
    const int64_t bins = kernel_.attributes.integer("bins"), count = input().elements();
    const auto entries = histogram_entries(bins, kernel_.attributes.integer("offset"));
    tables_ = text("\n__device__ const u32 kMantissa[] = {");
    for (const auto& entry : entries) tables_ += text(entry.mantissa, ",");
    tables_ += "};\n__device__ const u16 kBins[][2] = {";
    for (const auto& entry : entries) tables_ += text("{", entry.bins[0], ",", entry.bins[1], "},");
    tables_ += "};";
    blocks_ = std::clamp<int64_t>(count / (16 * kThreads), 1, kMostHistogramBlocks);
    partial_bytes_ = size_t(blocks_ * bins) * sizeof(uint32_t);
    const std::string each_bin = text("for (int b = threadIdx.x; b < ", bins, "; b += kThreads) ");
    std::string when;
    if (kernel_.inputs.size() > 1)
      when = text("  if (", code_.load(kernel_.inputs[1], "0"), " == 0) {\n    if (blockIdx.x == 0) ", each_bin, "{\n",
                  put("b", "R(0)"), "    }\n    return;\n  }\n");
    return text(
        when, "  __shared__ u32 counts[kThreads / 32][", bins + 1,
        "];\n  for (int i = threadIdx.x; i < kThreads / 32 * ", bins + 1, "; i += kThreads) counts[i / ", bins + 1,
        "][i % ", bins + 1, "] = 0;\n  __syncthreads();\n  for (i64 i = i64(blockIdx.x) * kThreads + threadIdx.x; i < ",
        count, "; i += ", blocks_ * kThreads, ") {\n    const float size = fabsf(float(",
        code_.load(kernel_.inputs[0], "i"),
        "));\n    const bool lifted = size < 0x1p-126f;\n    const u32 bits = __float_as_uint(lifted ? size * 0x1p",
        kHistogramLift, "f : size);\n    const u32 at = (bits >> 23) + (lifted ? 0 : ", kHistogramLift,
        ");\n    atomicAdd(&counts[threadIdx.x / 32][kBins[at][(bits & 0x7fffff) >= kMantissa[at]]], 1u);\n  }\n  "
        "__syncthreads();\n  u32* const all = reinterpret_cast<u32*>(partials);\n  ",
        each_bin,
        "{\n    u32 sum = 0;\n    for (int w = 0; w < kThreads / 32; ++w) sum += counts[w][b];\n    all[blockIdx.x "
        "* ",
        bins, " + b] = sum;\n  }\n  if (!is_last_of(ticket, gridDim.x)) return;\n  ", each_bin,
        "{\n    u32 sum = 0;\n    for (int block = 0; block < ", blocks_, "; ++block) sum += __ldcg(all + block * ",
        bins, " + b);\n", put("b", "R(sum)"), "  }\n");
  }

  // A block for a tile of results and a share of the inner axis, see product.cuh; the last of the blocks that share a
  // tile adds their parts up. The sums of aᵀ are one more column of the product, by a column of ones.
  std::string matmul() {
    const bool ta = kernel_.attributes.integer("transpose_a"), tb = kernel_.attributes.integer("transpose_b");
    const bool sums = kernel_.outputs.size() > 1;
    const int64_t rows = output()[0], of_b = output()[1], columns = of_b + sums, inner = input(0)[ta ? 0 : 1];
    const int depth = compute_ == DType::f64 ? 64 : 128;
    const int64_t across = (columns + kTile - 1) / kTile, tiles = (rows + kTile - 1) / kTile * across;
    const int64_t shares = std::clamp<int64_t>((inner + depth - 1) / depth, 1, std::max<int64_t>(kBlocks / tiles, 1));
    const int64_t share = ((inner + shares - 1) / shares + 7) / 8 * 8;
    blocks_ = tiles * shares;
    const auto place = [](const std::string& row, int64_t of_row, const std::string& column, int64_t elements) {
      return text(elements < (int64_t(1) << 31) ? "" : "i64", "(", row, ") * ", of_row, " + ", column);
    };
    const std::string a = code_.load(kernel_.inputs[0], ta ? place("k", rows, "m", input(0).elements())
                                                           : place("m", inner, "k", input(0).elements()));
    const std::string column = sums ? text("(n < ", of_b, " ? n : 0)") : "n";
    std::string b = code_.load(kernel_.inputs[1], tb ? place(column, inner, "k", input(1).elements())
                                                     : place("k", of_b, column, input(1).elements()));
    if (sums) b = text("n < ", of_b, " ? ", b, " : R(1)");
    std::string body = text(
        "  const int tile = blockIdx.x / ", shares, ", share = blockIdx.x % ", shares, ";\n  const int m0 = tile / ",
        across, " * kTile, n0 = tile % ", across, " * kTile, first = share * ", share, ";\n  const int last = first + ",
        share, " < ", inner, " ? first + ", share, " : ", inner, ";\n", gate(rows, of_b),
        "  R sums[4];\n  multiply_tile<R, ", depth, ", ", ta ? "false" : "true", ", ", tb ? "true" : "false",
        ">(sums, m0, ", rows, ", n0, ", columns, ", first, last,\n    [&](int m, int k) { return ", a,
        "; },\n    [&](int k, int n) { return ", b, "; });\n");
    if (shares > 1) {
      partial_bytes_ = size_t(blocks_) * kTile * kTile * size_of(compute_);
      tickets_ = int(1 + tiles);
      body +=
          text("  R* const parts = partials + i64(tile) * ", shares * kTile * kTile,
               " + threadIdx.x;\n#pragma unroll\n  for (int i = 0; i < 4; ++i) parts[share * 1024 + i * kThreads] = "
               "sums[i];\n  if (!is_last_of(ticket + 1 + tile, ",
               shares,
               ")) return;\n#pragma unroll\n  for (int i = 0; i < 4; ++i) sums[i] = 0;\n#pragma unroll 4\n  for (int s "
               "= 0; s < ",
               shares,
               "; ++s)\n#pragma unroll\n    for (int i = 0; i < 4; ++i) sums[i] += __ldcg(parts + "
               "s * 1024 + i * kThreads);\n");
    }
    body += text(
        "  const int n = n0 + threadIdx.x % kTile;\n#pragma unroll\n  for (int i = 0; i < 4; ++i) {\n    const int m "
        "= m0 + threadIdx.x / kTile + 8 * i;\n    if (m >= ",
        rows, " || n >= ", columns, ") continue;\n    R sum = sums[i];\n");
    if (kernel_.bias) body += text("    sum += ", code_.load(kernel_.bias, "n"), ";\n");
    if (kernel_.relu) body += "    sum = neon_math::relu_value<R>(sum, R(0), R(0));\n";
    if (kernel_.derivative) {
      Instruction derivative;
      derivative.op = kernel_.derivative;
      derivative.inputs = {0, 1};
      body +=
          text("    sum = ", code_.call(derivative, [](int i) { return std::string(i ? "gate[i]" : "sum"); }), ";\n");
    }
    if (sums)
      body += text("    if (n == ", of_b, ") {\n", code_.store(kernel_.outputs[1], "m", "sum", "      "),
                   "      continue;\n    }\n");
    return body + put(place("m", of_b, "n", output().elements()), "sum") + "  }\n";
  }

  // What the results of this thread go through, read before they are there.
  std::string gate(int64_t rows, int64_t columns) {
    if (!kernel_.derivative) return "";
    const std::string place = text("i64(min(m0 + int(threadIdx.x) / kTile + 8 * i, ", rows - 1, ")) * ", columns,
                                   " + min(n0 + int(threadIdx.x) % kTile, ", columns - 1, ")");
    return text("  R gate[4];\n#pragma unroll\n  for (int i = 0; i < 4; ++i) gate[i] = ",
                code_.load(kernel_.gate, place), ";\n");
  }

  const LoweredKernel& kernel_;
  SourceContext& context_;
  const Graph& graph_;
  CodeText code_;
  DType compute_;
  int64_t blocks_ = 1;
  size_t partial_bytes_ = 0;
  int tickets_ = 1;
  std::string tables_;  // of constants, before the kernel
};

bool is_small_product(const LoweredKernel& kernel, const Graph& graph) {
  const int64_t inner = graph.shape(kernel.inputs[0])[kernel.attributes.integer("transpose_a") ? 0 : 1];
  return inner * graph.shape(kernel.outputs[0]).elements() <= kMostWork;
}

}  // namespace

bool asks_library(const LoweredKernel& kernel, const SourceContext& context) {
  const bool product = kernel.op == "matmul" && !is_small_product(kernel, context.lowered.graph);
  if (!product && !kernel.op.starts_with("convolution")) return false;
  for (const auto& values : {kernel.inputs, kernel.outputs})
    for (Value value : values)
      if (context.sequences.count(context.lowered.storage[size_t(value.id)].id)) return false;
  return true;
}

Source op_source(const LoweredKernel& kernel, SourceContext& context) { return OpWriter(kernel, context).run(); }

}  // namespace neon::cuda
