// Initial values of parameters, drawn on the host from a stream keyed by seed and the parameter's name.
#pragma once
#include "neon/core/random.h"
#include "neon/core/registry.h"
#include "neon/core/tensor.h"

namespace neon {

struct Fan {
  int64_t in = 1, out = 1;  // inputs that meet in one output, outputs that one input reaches
};

class Initializer {
 public:
  static constexpr const char* kCategory = "initializer";
  virtual ~Initializer() = default;
  virtual const void* params_address() const = 0;
  // Throws a config error where it cannot fill a parameter of that shape.
  virtual void check(const Shape&) const {}
  // Fills an f32 or f64 array: weights (out, in) of a matrix, or a vector.
  virtual void fill(Tensor& tensor, const Fan& fan, Stream& stream) const = 0;
  // neon's marker: layers whose initialiser is the identity are not trained.
  virtual bool freezes() const { return false; }
};

}  // namespace neon
