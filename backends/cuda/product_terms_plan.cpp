#include "backends/cuda/product_terms_plan.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/product_text.h"
#include "backends/cuda/source.h"
#include "backends/cuda/tile_meetings.h"

extern const char product_terms_text[];
extern const unsigned long product_terms_text_size;
extern const char tensor_copies_text[];
extern const unsigned long tensor_copies_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kSideOfTile = 128, kDepthOfUnit = 32, kStagesOfBlock = 4;  // as in product_terms.cuh
constexpr int64_t kCopiedAtOnce = 4;                                         // elements that a copy takes at once
constexpr int64_t kLeastShare = 4;                                           // units of a block, if a tile has so many

int64_t up(int64_t count, int64_t of) { return (count + of - 1) / of; }

}  // namespace

std::optional<ProductTerms> ProductTerms::of(const ProductCase& product, int arch, int processors) {
  const Matrix &a = product.a, &b = product.b, &c = product.c;
  if (product.dtype != DType::f32 || product.result != DType::f32 || arch != kTileArch) return {};
  if (a.stride % kCopiedAtOnce || b.stride % kCopiedAtOnce) return {};
  const int64_t inner = a.transposed ? a.rows : a.columns, chunks = up(inner, kDepthOfUnit);
  const int64_t across = up(c.columns, kSideOfTile), tiles = up(c.rows, kSideOfTile) * across;
  if (inner == 0 || tiles == 0 || tiles > std::numeric_limits<int>::max() / 2 / chunks) return {};
  if (std::max({inner, c.rows, c.columns}) > std::numeric_limits<int>::max() - kSideOfTile) return {};
  const int64_t units = tiles * chunks;
  const int64_t share = std::max(up(units, processors), std::min(chunks, kLeastShare));
  ProductTerms out;
  out.sizes = {a.stride,   b.stride,    c.stride,    int(c.rows), int(c.columns),
               int(inner), int(across), int(chunks), int(units),  int(share)};
  out.along_a = !a.transposed, out.along_b = b.transposed;
  out.bias = product.bias, out.addend = product.addend, out.relu = product.relu;
  return out;
}

double ProductTerms::filled() const {
  return double(sizes.rows) * sizes.columns * sizes.inner /
         (double(sizes.units) * kSideOfTile * kSideOfTile * kDepthOfUnit);
}

std::string ProductTerms::source() const {
  const auto flag = [](bool is) { return is ? "true" : "false"; };
  return text(source_head(), std::string_view(tensor_copies_text, tensor_copies_text_size),
              "constexpr bool kAlongA = ", flag(along_a), ", kAlongB = ", flag(along_b), ", kBias = ", flag(bias),
              ", kAddend = ", flag(addend), ", kRelu = ", flag(relu), ";\n", multiply_add_tf32_text(kSideOfTile),
              std::string_view(product_terms_text, product_terms_text_size));
}

size_t ProductTerms::workspace_bytes() const {
  return shares_tiles() ? size_t(blocks()) * 2 * kSideOfTile * kSideOfTile * sizeof(float) : 0;
}

int64_t ProductTerms::shared_bytes() const {
  const auto numbers = [](bool along) {
    return along ? kSideOfTile * (kDepthOfUnit + 4) : kDepthOfUnit * (kSideOfTile + 8);
  };
  const int64_t terms = 4 * kSideOfTile * kDepthOfUnit;
  return (terms + kStagesOfBlock * (numbers(along_a) + numbers(along_b))) * int64_t(sizeof(float));
}

}  // namespace neon::cuda
