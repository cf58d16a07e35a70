// Writing graphs the way formulas are written:
//   Expr w(g, weight), v(g, velocity);
//   Expr step = momentum * v - rate * grad;
#pragma once
#include <initializer_list>
#include <string_view>

#include "backends/graph/graph.h"

namespace neon {

// The same elements in another shape; no copy is made.
Value reshape(Graph& graph, Value x, const Shape& shape);
// x repeated to `shape` by NumPy's rule.
Value broadcast_to(Graph& graph, Value x, const Shape& shape);
// Another element type; nothing when it already is that.
Value cast(Graph& graph, Value x, DType dtype);
// a (M,K) · b (K,N) -> (M,N); transpose_a means that a is stored (K,M), likewise b.
Value matmul(Graph& graph, Value a, Value b, bool transpose_a = false, bool transpose_b = false);
// data (n, ...), indices (N) i32 -> (N, ...)
Value gather(Graph& graph, Value data, Value indices);
// Index along `axis` of an array of that shape: 0, 1, 2, ...; f32.
Value iota(Graph& graph, const Shape& shape, int axis);
// The sums over all ranks of arrays of one type, see ops_exchange.cpp.
std::vector<Value> exchange(Graph& graph, std::vector<Value> values);
// Uniform numbers in [0, 1), f32, keyed by (seed, stream, step, element); a new draw each step. `first`: the place of
// the first element in the stream.
Value uniform(Graph& graph, const Shape& shape, uint64_t seed, const std::string& stream, int64_t first = 0);
// keys (N,2) i32 -> (N,columns) f32, uniform in [0, 1): row i has what uniform() draws at step keys[i][1] from element
// keys[i][0] · columns on, whatever the step of the run. A key below 0 means that the row has no key.
Value keyed_uniform(Graph& graph, Value keys, int64_t columns, uint64_t seed, const std::string& stream);
// Counts (bins) i32 of the elements by size on a logarithmic scale; see ops_histogram.cpp. Where the number `when` is
// given and 0, nothing is counted.
Value histogram(Graph& graph, Value x, int64_t bins, int64_t offset, Value when = {});
// axes permuted as in NumPy's transpose
Value transpose(Graph& graph, Value x, std::vector<int64_t> permutation);

class Expr {
 public:
  Expr() = default;
  Expr(Graph& graph, Value value) : graph_(&graph), value_(value) {}
  Graph& graph() const { return *graph_; }
  Value value() const { return value_; }
  operator Value() const { return value_; }
  const Shape& shape() const { return graph_->shape(value_); }
  DType dtype() const { return graph_->dtype(value_); }
  // A number in this value's arithmetic: f64 for f64, otherwise f32.
  Expr constant(double number) const { return {*graph_, graph_->constant(number, compute_type(dtype()))}; }

 private:
  Graph* graph_ = nullptr;
  Value value_;
};

// Any row of the elementwise table: apply("relu", x), apply("select", c, a, b).
inline Expr apply(std::string_view row, Expr a) { return {a.graph(), a.graph().add(row, {a})}; }
inline Expr apply(std::string_view row, Expr a, Expr b) { return {a.graph(), a.graph().add(row, {a, b})}; }
inline Expr apply(std::string_view row, Expr a, Expr b, Expr c) { return {a.graph(), a.graph().add(row, {a, b, c})}; }

#define NEON_OPERATOR(symbol, row)                                                       \
  inline Expr operator symbol(Expr a, Expr b) { return apply(row, a, b); }               \
  inline Expr operator symbol(Expr a, double b) { return apply(row, a, a.constant(b)); } \
  inline Expr operator symbol(double a, Expr b) { return apply(row, b.constant(a), b); }
NEON_OPERATOR(+, "add")
NEON_OPERATOR(-, "sub")
NEON_OPERATOR(*, "mul")
NEON_OPERATOR(/, "div")
#undef NEON_OPERATOR
inline Expr operator-(Expr a) { return apply("neg", a); }

inline Expr exp(Expr a) { return apply("exp", a); }
inline Expr log(Expr a) { return apply("log", a); }
inline Expr sqrt(Expr a) { return apply("sqrt", a); }
inline Expr square(Expr a) { return apply("square", a); }
inline Expr abs(Expr a) { return apply("abs", a); }
inline Expr maximum(Expr a, Expr b) { return apply("maximum", a, b); }
inline Expr minimum(Expr a, Expr b) { return apply("minimum", a, b); }
inline Expr maximum(Expr a, double b) { return apply("maximum", a, a.constant(b)); }
inline Expr minimum(Expr a, double b) { return apply("minimum", a, a.constant(b)); }
inline Expr cast(Expr a, DType dtype) { return {a.graph(), cast(a.graph(), a.value(), dtype)}; }
// x in another type, rounded stochastically to `bits` bits of mantissa; see ops_round.cpp. A new draw each step.
Expr round_stochastic(Expr x, DType dtype, int bits, uint64_t seed, const std::string& stream);
// The most that can be kept of a floating type; 0 of others.
int most_kept_bits(DType dtype);
inline Expr reshape(Expr a, const Shape& shape) { return {a.graph(), reshape(a.graph(), a.value(), shape)}; }

// Reductions keep the reduced axes with size 1.
Expr reduce(std::string_view kind, Expr a, std::vector<int64_t> axes);
std::vector<int64_t> all_axes(const Shape& shape);
inline Expr sum(Expr a, std::vector<int64_t> axes) { return reduce("sum", a, std::move(axes)); }
inline Expr max(Expr a, std::vector<int64_t> axes) { return reduce("max", a, std::move(axes)); }
Expr mean(Expr a, std::vector<int64_t> axes);

}  // namespace neon
