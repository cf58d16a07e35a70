// Source of products of signs (signs.cuh).
#include <algorithm>

#include "backends/cuda/op_writer.h"
#include "backends/graph/sign_product.h"

extern const char signs_text[];
extern const unsigned long signs_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kSide = 64;  // rows and columns of a tile

class SignProductWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() {
    const int64_t rows = input(0)[0], columns = input(1)[0], length = input(0)[1], words = (length + 31) / 32;
    const int64_t tiles = quotient_up(rows, kSide) * quotient_up(columns, kSide);
    const int64_t work = std::max(tiles, quotient_up(rows + columns, kThreads / 32));
    const std::string sizes =
        text("  constexpr i64 kRows = ", rows, ", kColumns = ", columns, ", kAll = kRows + kColumns, ",
             "kTilesAcross = ", quotient_up(columns, kSide), ", kTiles = ", tiles,
             ";\n  constexpr int kLength = ", length, ", kWords = ", words, ";\n");
    const std::string body = text(sizes, bits(), "  meet<true>(ticket, gridDim.x);\n", products());
    Source out = kernel_source(
        code_, compute_, text("\nconstexpr int kSide = ", kSide, ";\n", std::string_view(signs_text, signs_text_size)),
        body, std::min(work, kBlocksOfProcessor * code_.context().processors), text("kThreads, ", kBlocksOfProcessor));
    out.partial_bytes = size_t((rows + columns) * (words + 1)) * sizeof(uint32_t);
    return out;
  }

 private:
  // The words of both matrices lie one behind the other, and then a word for each row: whether it has NaN.
  std::string bits() {
    const auto row_of = [&](int i, const char* row) {
      return text("      signs_of_row(kLength, kWords, bits + row * kWords, nan + row, [&](int k) { return ",
                  code_.load(kernel_.inputs[size_t(i)], text("(", row, ") * kLength + k")), "; });\n");
    };
    return text(
        "  u32* const bits = reinterpret_cast<u32*>(partials);\n  u32* const nan = bits + kAll * kWords;\n",
        "  for (i64 row = i64(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; row < kAll; row += i64(gridDim.x) * ",
        "(kThreads / 32)) {\n    if (row < kRows)\n", row_of(0, "row"), "    else\n", row_of(1, "row - kRows"),
        "  }\n");
  }

  std::string products() {
    return text(
        "  for (i64 tile = blockIdx.x; tile < kTiles; tile += gridDim.x)\n",
        "    signs_tile(bits, bits + kRows * kWords, tile / kTilesAcross * kSide, tile % kTilesAcross * kSide, ",
        "kRows, kColumns, kWords, [&](i64 m, i64 n, int differing) {\n",
        "      const R number = __ldcg(nan + m) || __ldcg(nan + kRows + n) ? R(neon_math::kNaN64) : R(kLength - 2 * "
        "differing);\n",
        code_.store(kernel_.outputs[0], "m * kColumns + n", "number", "      "), "    });\n");
  }
};

const SourceRegistration sign_product(ops::sign_product, source_by<SignProductWriter>);

}  // namespace

}  // namespace neon::cuda
