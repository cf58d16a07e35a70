// Activations: elementwise functions (softmax aside) named in specs.
#pragma once
#include "backends/graph/expression.h"
#include "neon/core/registry.h"

namespace neon {

// Numbers that an activation learns, all `begin` at first. `kind` is the activation's name, by which MultiOptimizer may
// know them.
struct LearnedNumbers {
  std::string name, kind;
  Shape shape;
  double begin = 0;
};

// The layer as its activation sees it.
class ActivationContext {
 public:
  virtual ~ActivationContext() = default;
  // False in an evaluation.
  virtual bool training() const = 0;
  // Learned numbers, in the type of the net. A checkpoint keeps them.
  virtual Expr learned(const LearnedNumbers& numbers) = 0;
  // Uniform numbers in [0, 1), f32; a new draw in each step. Draws of different names are independent.
  virtual Expr draw(const std::string& name, const Shape& shape) = 0;
};

class Activation {
 public:
  static constexpr const char* kCategory = "activation";
  virtual ~Activation() = default;
  virtual const void* params_address() const = 0;
  // x (N, ...) -> y of the same shape; images and volumes have their channels last, and each step of a sequence is a
  // sample
  virtual Expr apply(ActivationContext& context, Expr x) const = 0;
  // Whether it keeps about the positive half of its inputs, for which weights begin larger (He et al. 2015).
  virtual bool rectifies() const { return false; }
  // Whether an element of y is made of several elements of x.
  virtual bool mixes() const { return false; }
};

}  // namespace neon
