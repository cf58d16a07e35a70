// Products in exact f32 as sums of products of TF32, see product_terms.cuh: which cases, and how they are shared out.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/product.h"

namespace neon::cuda {

struct ProductTerms {
  struct Sizes {  // as in product_terms.cuh
    int64_t of_a, of_b, of_c;
    int rows, columns, inner, across, chunks, units, share;
  };
  Sizes sizes{};
  bool along_a = false, along_b = false, bias = false, addend = false, relu = false;

  // The arrays begin at 16 bytes. Empty if it is no product of f32, if the kernel is not for `arch`, or if rows of an
  // operand do not begin at 16 bytes.
  static std::optional<ProductTerms> of(const ProductCase& product, int arch, int processors);
  double filled() const;  // the share of the multiplications of all units that the product needs
  std::string source() const;
  int tiles() const { return sizes.units / sizes.chunks; }
  int blocks() const { return (sizes.units + sizes.share - 1) / sizes.share; }
  bool shares_tiles() const { return sizes.share % sizes.chunks != 0; }
  size_t workspace_bytes() const;  // for parts of shared tiles
  int64_t shared_bytes() const;
};

}  // namespace neon::cuda
