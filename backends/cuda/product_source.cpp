// Source of matrix products that no library makes: small ones, those of a type or a size that it lacks.
#include <algorithm>

#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

extern const char product_text[];
extern const unsigned long product_text_size;

namespace neon::cuda {

namespace {

constexpr int kTile = 32;         // as in product.cuh
constexpr int64_t kBlocks = 264;  // that run at the same time on the GPUs at hand

class ProductWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() {
    const std::string body = matmul();
    Source out = source(body, std::string(product_text, product_text_size));
    out.partial_bytes = partial_bytes_;
    out.tickets = tickets_;
    return out;
  }

 private:
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
    if (sums)
      body += text("    if (n == ", of_b, ") {\n", code_.store(kernel_.outputs[1], "m", "sum", "      "),
                   "      continue;\n    }\n");
    if (kernel_.bias()) body += text("    sum += ", code_.load(kernel_.bias(), "n"), ";\n");
    if (kernel_.addend())
      body += text("    sum += ", code_.load(kernel_.addend(), place("m", of_b, "n", output().elements())), ";\n");
    if (kernel_.relu()) body += "    sum = neon_math::relu_value<R>(sum, R(0), R(0));\n";
    if (kernel_.derivative()) {
      Instruction derivative;
      derivative.op = kernel_.derivative()->op;
      derivative.inputs = {0, 1};
      body +=
          text("    sum = ", code_.call(derivative, [](int i) { return std::string(i ? "gate[i]" : "sum"); }), ";\n");
    }
    return body + put(place("m", of_b, "n", output().elements()), "sum") + "  }\n";
  }

  // The operand of the derivative that this thread's results go through. The thread reads it before its results are
  // there.
  std::string gate(int64_t rows, int64_t columns) {
    if (!kernel_.derivative()) return "";
    const std::string place = text("i64(min(m0 + int(threadIdx.x) / kTile + 8 * i, ", rows - 1, ")) * ", columns,
                                   " + min(n0 + int(threadIdx.x) % kTile, ", columns - 1, ")");
    return text("  R gate[4];\n#pragma unroll\n  for (int i = 0; i < 4; ++i) gate[i] = ",
                code_.load(kernel_.derivative()->value, place), ";\n");
  }

  size_t partial_bytes_ = 0;
  int tickets_ = 1;
};

const SourceRegistration products(ops::matmul, source_by<ProductWriter>, {product_text, product_text_size});

}  // namespace

}  // namespace neon::cuda
