// Activations: elementwise functions (softmax aside) named in specs.
#pragma once
#include "backends/graph/expression.h"
#include "neon/core/registry.h"

namespace neon {

class Activation {
 public:
  static constexpr const char* kCategory = "activation";
  virtual ~Activation() = default;
  virtual const void* params_address() const = 0;
  // x (N, ...) -> y of the same shape
  virtual Expr apply(Expr x) const = 0;
};

}  // namespace neon
