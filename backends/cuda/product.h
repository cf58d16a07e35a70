// Matrix products by cuBLASLt. The heuristic's first algorithm is taken, the same each time; or, where the clock may
// choose, the fastest of its first few, which is remembered on disk.
#pragma once
#include <memory>
#include <string>

#include "backends/cuda/driver.h"
#include "backends/graph/lower.h"

namespace neon::cuda {

class Product {
 public:
  virtual ~Product() = default;
  // a, b, bias (or null), c: addresses on the device.
  virtual void launch(const void* a, const void* b, const void* bias, void* c) = 0;
};

struct ProductOptions {
  bool timed = false, tf32 = false;
};

// Space that products share; they run one after the other.
constexpr size_t kProductWorkspace = size_t(32) << 20;

// Null when cuBLASLt does not take the case: an empty array, types that differ.
std::unique_ptr<Product> make_product(const LoweredKernel& kernel, const Graph& graph, std::shared_ptr<Device> device,
                                      std::shared_ptr<Memory> workspace, const ProductOptions& options);

}  // namespace neon::cuda
