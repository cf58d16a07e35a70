// Initial values of parameters, drawn on the host from a stream keyed by seed and the parameter's name.
#pragma once
#include "neon/core/random.h"
#include "neon/core/registry.h"
#include "neon/core/tensor.h"

namespace neon {

// How many inputs meet in one output, and how many outputs one input reaches, padding and strides left aside: of
// filters (K,R,S,C) in, R S C, and out, R S K.
struct Fan {
  int64_t in = 1, out = 1;
  int64_t rows = 1, columns = 1;  // of the matrix that neon 1.x had: filters (C R S, K), a linear layer's (nout, nin)
  Shape filters = {};             // (K,R,S,C) of one place, where each place has filters of its own
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
  // Whether elements depend on each other, as in a matrix. Filters of each place are then filled by themselves.
  virtual bool of_matrix() const { return false; }
  // neon's marker: layers whose initialiser is the identity are not trained.
  virtual bool freezes() const { return false; }
};

}  // namespace neon
