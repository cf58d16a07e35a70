// Products in exact f32 as sums of products of TF32, see product_terms.cuh: the kernel with its arrays.
#pragma once
#include "backends/cuda/library_kernel.h"
#include "backends/cuda/product_terms_plan.h"

namespace neon::cuda {

constexpr const char* kTerms = "terms";

std::unique_ptr<OperandsKernel> make_product_terms(const ProductTerms& of, bool swapped, std::shared_ptr<Device> device,
                                                   ColdStart* cold);

}  // namespace neon::cuda
