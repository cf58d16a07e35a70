// Products of f32 as sums of terms: how they are shared out, and that their kernels compile. Needs no GPU.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "backends/cuda/compile.h"
#include "backends/cuda/product_terms_plan.h"

using namespace neon;
using namespace neon::test;
using cuda::ProductCase;
using cuda::ProductTerms;

namespace {

constexpr int kHopperProcessors = 132;  // of an H100

ProductCase product_case(int64_t rows, int64_t inner, int64_t columns, bool turned_a = false, bool turned_b = false) {
  const auto matrix = [](int64_t r, int64_t c, bool turned) {
    return turned ? cuda::Matrix{c, r, r, true} : cuda::Matrix{r, c, c, false};
  };
  return {.a = matrix(rows, inner, turned_a), .b = matrix(inner, columns, turned_b), .c = matrix(rows, columns, false)};
}

}  // namespace

TEST_CASE("products of f32 are sums of terms where the tensor cores and the rows fit") {
  CHECK(ProductTerms::of(product_case(128, 128, 128), 90, kHopperProcessors));
  CHECK(ProductTerms::of(product_case(127, 64, 68), 90, kHopperProcessors));
  CHECK(!ProductTerms::of(product_case(128, 128, 65), 90, kHopperProcessors));              // rows of 65 numbers
  CHECK(ProductTerms::of(product_case(128, 128, 65, false, true), 90, kHopperProcessors));  // 65 rows of 128
  CHECK(!ProductTerms::of(product_case(65, 128, 128, true), 90, kHopperProcessors));
  CHECK(!ProductTerms::of(product_case(128, 128, 128), 80, kHopperProcessors));
  CHECK(!ProductTerms::of(product_case(128, 0, 128), 90, kHopperProcessors));
  CHECK(!ProductTerms::of(product_case(1 << 24, 1 << 20, 1 << 20), 90,
                          kHopperProcessors));  // more units than an int counts
  CHECK(!ProductTerms::of(product_case(int64_t(1) << 31, 4, 4), 90, kHopperProcessors));
  CHECK(ProductTerms::of(product_case(1000, 700, 900), 90, kHopperProcessors)->filled() ==
        Approx(1000. * 700 * 900 / (1024. * 704 * 1024)));
  ProductCase other = product_case(128, 128, 128);
  other.dtype = other.result = DType::f64;
  CHECK(!ProductTerms::of(other, 90, kHopperProcessors));
  other.dtype = DType::f16, other.result = DType::f32;
  CHECK(!ProductTerms::of(other, 90, kHopperProcessors));
}

TEST_CASE("blocks of a product of terms take all units, and a block shares two tiles at most") {
  for (const auto& [rows, inner, columns] : std::vector<std::array<int64_t, 3>>{
           {3200, 512, 1536}, {512, 3200, 1536}, {100, 784, 128}, {4096, 128, 9216}, {1, 32, 4}, {128, 100'000, 128}}) {
    const ProductTerms of = *ProductTerms::of(product_case(rows, inner, columns), 90, kHopperProcessors);
    const auto& s = of.sizes;
    INFO(rows << " " << inner << " " << columns);
    CHECK(int64_t(s.chunks) * 32 >= inner);
    CHECK(of.tiles() == (rows + 127) / 128 * ((columns + 127) / 128));
    CHECK(of.blocks() <= kHopperProcessors);
    CHECK(int64_t(of.blocks()) * s.share >= s.units);
    CHECK(int64_t(of.blocks() - 1) * s.share < s.units);
    CHECK(of.shared_bytes() <= 227 * 1024 - 1024);
    // The slots of parts, as Results::gather() counts them: no two parts share one.
    std::set<int> slots;
    for (int block = 0; block < of.blocks(); ++block) {
      const int begin = block * s.share, end = std::min(begin + s.share, s.units);
      for (int tile = begin / s.chunks; tile <= (end - 1) / s.chunks; ++tile) {
        const int first = tile * s.chunks / s.share, last = (tile * s.chunks + s.chunks - 1) / s.share;
        CHECK((first <= block && block <= last));
        if (first == last) continue;
        const int slot = block * 2 + (begin / s.chunks != tile);
        CHECK(slots.insert(slot).second);
        CHECK(size_t(slot + 1) * 128 * 128 * 4 <= of.workspace_bytes());
      }
    }
  }
}

TEST_CASE("kernels of products of terms compile for all ways that operands lie") {
  std::vector<std::string> sources;
  for (const bool turned_a : {false, true})
    for (const bool turned_b : {false, true}) {
      ProductCase of = product_case(256, 128, 256, turned_a, turned_b);
      of.bias = turned_a, of.addend = turned_b, of.relu = turned_a == turned_b;
      sources.push_back(ProductTerms::of(of, 90, kHopperProcessors)->source());
    }
  CHECK(std::set(sources.begin(), sources.end()).size() == 4);
  for (const std::string& code : cuda::compile_sources(sources, 90)) CHECK(!code.empty());
}
