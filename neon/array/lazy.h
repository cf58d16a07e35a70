// Expressions over arrays. Nothing is computed while they are built: an expression is evaluated when an Array is made
// of it or it is assigned to one, all of it in as few kernels as it takes. Shapes are checked at once.
//
//   Array y = (x - mean(x, 0)) / sqrt(var(x, 0) + 1e-5);
//
// Operands broadcast by NumPy's rule. Elements are stored in any type and computed in f32, in f64 where an operand is
// of f64; i64 that are only moved keep 53 bits. Reductions keep the reduced axis with size 1.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "neon/core/dtype.h"
#include "neon/core/shape.h"

namespace neon {

class Lazy {
 public:
  struct Node;
  Lazy(double number);
  explicit Lazy(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  const Shape& shape() const;
  // The type of an Array made of it.
  DType dtype() const;
  const std::shared_ptr<const Node>& node() const { return node_; }

  // The same elements in another shape; one size may be -1.
  Lazy reshape(std::vector<int64_t> sizes) const;
  // Axes permuted as by NumPy's transpose, counted from the back when negative; reversed where none are given.
  Lazy transpose(std::vector<int64_t> axes = {}) const;
  Lazy T() const { return transpose(); }
  // Elements first .. first + count - 1 along an axis.
  Lazy slice(int axis, int64_t first, int64_t count) const;
  // Rounded to that type, whatever follows; a number without type stays one. Gradients go through floating types
  // unchanged, and not through integers.
  Lazy cast(DType dtype) const;
  Lazy broadcast(const Shape& shape) const;

 private:
  std::shared_ptr<const Node> node_;
};

// Any function of the elementwise table: apply("gelu", x). An unknown name is answered with the nearest.
Lazy apply(std::string_view function, const Lazy& a);
Lazy apply(std::string_view function, const Lazy& a, const Lazy& b);
Lazy apply(std::string_view function, const Lazy& a, const Lazy& b, const Lazy& c);

#define NEON_LAZY_OPERATOR(symbol, function) \
  inline Lazy operator symbol(const Lazy& a, const Lazy& b) { return apply(function, a, b); }
NEON_LAZY_OPERATOR(+, "add")
NEON_LAZY_OPERATOR(-, "sub")
NEON_LAZY_OPERATOR(*, "mul")
NEON_LAZY_OPERATOR(/, "div")
// 1 where it holds, else 0.
NEON_LAZY_OPERATOR(==, "equal")
NEON_LAZY_OPERATOR(!=, "not_equal")
NEON_LAZY_OPERATOR(<, "less")
NEON_LAZY_OPERATOR(<=, "less_equal")
NEON_LAZY_OPERATOR(>, "greater")
NEON_LAZY_OPERATOR(>=, "greater_equal")
#undef NEON_LAZY_OPERATOR
inline Lazy operator-(const Lazy& a) { return apply("neg", a); }

#define NEON_LAZY_FUNCTION(name, function) \
  inline Lazy name(const Lazy& a) { return apply(function, a); }
NEON_LAZY_FUNCTION(abs, "abs")
NEON_LAZY_FUNCTION(exp, "exp")
NEON_LAZY_FUNCTION(exp2, "exp2")
NEON_LAZY_FUNCTION(finite, "is_finite")
NEON_LAZY_FUNCTION(log, "log")
NEON_LAZY_FUNCTION(log2, "log2")
NEON_LAZY_FUNCTION(reciprocal, "reciprocal")
NEON_LAZY_FUNCTION(relu, "relu")
NEON_LAZY_FUNCTION(rint, "rint")
NEON_LAZY_FUNCTION(safelog, "safelog")
NEON_LAZY_FUNCTION(sgn, "sign")
NEON_LAZY_FUNCTION(sig, "logistic")
NEON_LAZY_FUNCTION(sig2, "logistic2")
NEON_LAZY_FUNCTION(sqrt, "sqrt")
NEON_LAZY_FUNCTION(square, "square")
NEON_LAZY_FUNCTION(tanh, "tanh")
NEON_LAZY_FUNCTION(tanh2, "tanh2")
#undef NEON_LAZY_FUNCTION
inline Lazy maximum(const Lazy& a, const Lazy& b) { return apply("maximum", a, b); }
inline Lazy minimum(const Lazy& a, const Lazy& b) { return apply("minimum", a, b); }
inline Lazy power(const Lazy& a, const Lazy& b) { return apply("pow", a, b); }
inline Lazy shift(const Lazy& a, const Lazy& b) { return apply("shift", a, b); }
// All of an array along an axis in parts of these sizes, which add up to the axis. A gradient by the array is one
// array, where slices would make one each.
std::vector<Lazy> split(const Lazy& a, const std::vector<int64_t>& sizes, int axis = 0);
inline Lazy clip(const Lazy& a, const Lazy& low, const Lazy& high) { return apply("clip", a, low, high); }
// a where `condition` is not 0, else b
inline Lazy where(const Lazy& condition, const Lazy& a, const Lazy& b) { return apply("select", condition, a, b); }

// Over one axis, counted from the back when negative, or over all. Gradients of the largest and the smallest go to all
// that are equal, in equal parts; so do maximum's and minimum's.
Lazy sum(const Lazy& a, int axis);
Lazy sum(const Lazy& a);
Lazy max(const Lazy& a, int axis);
Lazy max(const Lazy& a);
Lazy min(const Lazy& a, int axis);
Lazy min(const Lazy& a);
Lazy mean(const Lazy& a, int axis);
Lazy mean(const Lazy& a);
// The population's variance, as neon's: divided by n.
Lazy var(const Lazy& a, int axis);
Lazy var(const Lazy& a);
Lazy stddev(const Lazy& a, int axis);
Lazy stddev(const Lazy& a);
// Index of the first of the largest or smallest; a number of the arithmetic, exact up to 2^24 in f32.
Lazy argmax(const Lazy& a, int axis);
Lazy argmin(const Lazy& a, int axis);

// a (M,K) · b (K,N) -> (M,N); transposed operands are taken as they lie. Operands of one floating type are multiplied
// in it, others in the type of the arithmetic; sums are in f32 or f64, and so is what an expression makes of them: of
// 16-bit operands they are rounded where they are stored, or by cast().
Lazy dot(const Lazy& a, const Lazy& b);
// How filters or windows step over images (N,H,W,C) or volumes (N,D,H,W,C): a number for each axis of space, one for
// all of them, or none for the usual, steps of 1 or of a pooling window's size, no padding, no dilation. There is as
// much padding before as after.
struct WindowSteps {
  std::vector<int64_t> strides = {}, padding = {}, dilation = {};
  int64_t groups = 1;  // that channels and feature maps are shared among evenly
};
// x (N,H,W,C), w (K,R,S,C/groups) -> (N,P,Q,K), P = (H + 2 padding - dilation (R - 1) - 1) / stride + 1; filters are
// not turned around. Types are as in dot, but results of 16-bit operands have 16 bits at once.
Lazy convolution(const Lazy& x, const Lazy& w, const WindowSteps& steps = {});
// Its adjoint in x: y (N,P,Q,K), w (K,R,S,C/groups) -> (N,H,W,C), the least H and W.
Lazy deconvolution(const Lazy& y, const Lazy& w, const WindowSteps& steps = {});
// The largest or the mean of each window of (height, width), or (height, width, channels); in 3-D (depth, ...). Padding
// is never the largest and does not count in a mean. A gradient goes to the first of the largest.
Lazy max_pool(const Lazy& x, const std::vector<int64_t>& window, const WindowSteps& steps = {});
Lazy mean_pool(const Lazy& x, const std::vector<int64_t>& window, const WindowSteps& steps = {});
// Rows of `a` along an axis that a list of i32 indices names.
Lazy take(const Lazy& a, const Lazy& indices, int axis = 0);
// (n) i32 -> (n, classes), or (classes, n) with axis 0: 1 where the index is the class, else 0.
Lazy onehot(const Lazy& indices, int64_t classes, int axis = 1);
// All in a row along an axis.
Lazy concatenate(const std::vector<Lazy>& parts, int axis = 0);
// Rounds stochastically in the middle of an expression, as Array::round_by_chance does on assignment: to one of the two
// neighbours of that type with so many bits of mantissa, drawn anew in each evaluation. No gradient flows through it.
Lazy round_by_chance(const Lazy& a, int bits, DType dtype = DType::f32);
// Counts (bins) i32 by size on a logarithmic scale, neon's `hist`: bin i is of rint(log2 |a|) = offset + i, the first
// also of all that is smaller.
Lazy histogram(const Lazy& a, int64_t bins = 64, int64_t offset = -48);

}  // namespace neon
