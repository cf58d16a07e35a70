// The product inside a fused kernel, as text for row_product.cuh.
#pragma once
#include <optional>
#include <string>

#include "backends/graph/lower.h"

namespace neon::cuda {

class CodeText;

constexpr int64_t kRowsOfTile = 64;  // of a result that a block makes at a time

// A product of (count,inner) by (inner,all), of which a block takes `columns` at a time; so many blocks share the rows.
struct RowProductPlan {
  DType dtype = DType::f16;
  int64_t count = 0, inner = 0, all = 0, columns = 0, blocks = 1;
  bool turned = false;
  int stages = 0;  // places for parts of rows that arrive

  // Chooses the stages; whether there is room for the least of them.
  bool fits(int64_t most_bytes);

  int64_t shared_bytes() const;
  int64_t tiles() const;
  std::string declarations() const;  // for the head of the kernel's text
  std::string type() const;
};

// The hook of lowering: DeviceKernels::multiplies_rows.
bool multiplies_rows(const LoweredKernel& kernel, const RowProduct& product, const Lowered& lowered,
                     const DeviceKernels& device);

}  // namespace neon::cuda
