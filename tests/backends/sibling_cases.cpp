#include "tests/backends/sibling_cases.h"

#include "backends/graph/op.h"
#include "tests/backends/net_of_branches.h"

namespace neon::test {

namespace {

const Shape kLarge = {2, 16, 16, 8};

SiblingCase siblings(const char* name, int data, int weights, BuildBranches build) {
  return {name, over(kLarge, build), data, weights};
}

constexpr int64_t kRows = 128, kColumns = 16;

SiblingCase products(const char* name, int products, BuildBranches build) {
  return {name, over(kLarge, build), 0, 0, products};
}

Expr product(NetOfBranches& n, Expr a, Expr b, bool transpose_a, bool transpose_b = false) {
  return {n.graph, matmul(n.graph, a, b, transpose_a, transpose_b)};
}
Expr sizes_of(NetOfBranches& n, const char* name, const Shape& shape) { return abs(n.input(name, shape)); }

// Outputs: the sum of y w over all y (128, columns), and y' x for each.
void add_gradients(NetOfBranches& n, const std::vector<Expr>& parts, bool weights_turned = false) {
  const Expr x = n.input("rows", {kRows, kColumns});
  Expr sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t columns = parts[i].shape()[1];
    const Expr w = n.variable(weights_turned ? Shape{kColumns, columns} : Shape{columns, kColumns});
    const Expr of_x = product(n, parts[i], w, false, weights_turned);
    sum = i ? sum + of_x : of_x;
    n.output(text("weights ", i), product(n, parts[i], x, true) * 0.5);
  }
  n.output("sum", sum);
}

}  // namespace

// Of the last layer there is one gradient by its input and one by its filters, too.
std::vector<SiblingCase> sibling_cases() {
  return {
      siblings("three of one input", 2, 2,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 16), n.layer(n.x, 8)}));
               }),
      siblings("filters in another type", 2, 2,
               [](NetOfBranches& n) {
                 std::vector<Expr> parts;
                 for (int64_t maps : {8, 16}) {
                   const Expr w(n.graph, n.graph.variable(text("master", maps), DType::f32, {maps, 1, 1, 8}));
                   parts.emplace_back(n.graph,
                                      convolution(n.graph, n.x, cast(w, n.dtype), NetOfBranches::windows(1), 1));
                 }
                 n.end(n.joined(parts));
               }),
      siblings("filters that are updated", 1, 1,
               [](NetOfBranches& n) {
                 const Expr a = n.variable({8, 1, 1, 8}), b = n.variable({16, 1, 1, 8});
                 const Expr da = n.input("a", kLarge), db = n.input("b", {2, 16, 16, 16});
                 n.output("sum", n.data_gradient(da, a) + n.data_gradient(db, b));
                 n.graph.assign(a, a - n.weight_gradient(n.x, da) * 0.5);
                 const Expr total = sum(square(da), {0, 1, 2, 3}), never = apply("less", total, total.constant(0));
                 n.graph.assign(b, b - n.weight_gradient(n.x, db) * 0.5, never);
               }),
      siblings("two of each size", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3), n.layer(n.x, 8, 3), n.layer(n.x, 8)}));
               }),
      siblings("one of each size", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3)}));
               }),
      siblings("a module with pooling", 5, 5,
               [](NetOfBranches& n) {
                 const Expr reduced = n.layer(n.layer(n.x, 8), 8, 3), pooled = n.layer(n.largest(n.x), 8);
                 n.end(n.joined({n.layer(n.x, 16), reduced, n.layer(n.layer(n.x, 8), 16), pooled}));
               }),
      siblings("an odd number of maps", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 3), n.layer(n.x, 5)}));
               }),
      siblings("in groups", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.product(n.x, 8, 1, 2), n.product(n.x, 8, 1, 2)}));
               }),
      siblings("filters larger than the image", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 136), n.layer(n.x, 136)}));
               }),
      siblings("one that is a result", 2, 0,
               [](NetOfBranches& n) {
                 const Expr a = n.transposed(n.x, 8), b = n.transposed(n.input("other", kLarge), 8);
                 n.output("one", a);
                 n.output("sum", a + b);
               }),
      siblings("two that are results", 2, 0,
               [](NetOfBranches& n) {
                 const Expr a = n.transposed(n.x, 8), b = n.transposed(n.input("other", kLarge), 8);
                 n.output("one", a);
                 n.output("other", b);
                 n.output("sum", a + b);
               }),
      siblings("a sum that goes on", 2, 0,
               [](NetOfBranches& n) {
                 const Expr a = n.transposed(n.x, 8), b = n.transposed(n.input("other", kLarge), 8);
                 const Expr c = n.transposed(n.input("third", kLarge), 8);
                 n.output("sum", a + b);
                 n.output("all", c + (a + b));
               }),
      siblings("two filters for one", 2, 0,
               [](NetOfBranches& n) { n.output("sum", n.transposed(n.x, 8) + n.transposed(n.x, 8)); }),
      siblings("a gradient by filters that another waits for", 1, 2,
               [](NetOfBranches& n) {
                 const Expr a = n.input("a", kLarge);
                 const Expr first = n.weight_gradient(n.x, a);
                 const Expr b = n.input("b", kLarge) + max(first, {0, 1, 2, 3}) * 0;
                 n.output("sum", n.transposed(a, 8) + n.transposed(b, 8));
                 n.output("first", first * 0.5);
                 n.output("second", n.weight_gradient(n.x, b) * 0.5);
               }),
      siblings("gradients by filters of two inputs", 1, 2,
               [](NetOfBranches& n) {
                 const Expr a = n.input("a", kLarge), b = n.input("b", kLarge);
                 n.output("sum", n.transposed(a, 8) + n.transposed(b, 8));
                 n.output("first", n.weight_gradient(n.x, a));
                 n.output("second", n.weight_gradient(n.input("other", kLarge), b));
               }),
      products("three products", 2,
               [](NetOfBranches& n) {
                 add_gradients(
                     n, {sizes_of(n, "a", {kRows, 8}), sizes_of(n, "b", {kRows, 16}), sizes_of(n, "c", {kRows, 8})});
               }),
      products("products of steps", 2,
               [](NetOfBranches& n) {
                 std::vector<Expr> parts;
                 for (const char* name : {"a", "b"})
                   parts.push_back(reshape(sizes_of(n, name, {4, 32, 2, 4}), {kRows, 8}));
                 add_gradients(n, parts);
               }),
      products("products of what another product takes, too", 5,
               [](NetOfBranches& n) {
                 const Expr a = sizes_of(n, "a", {kRows, 8}), b = sizes_of(n, "b", {kRows, 8});
                 add_gradients(n, {a, b});
                 n.output("other", product(n, a, n.variable({8, 24}), false));
               }),
      products("products of inputs", 4,
               [](NetOfBranches& n) {
                 add_gradients(n, {n.input("a", {kRows, 8}), n.input("b", {kRows, 8})});
               }),
      products("products of an odd number of columns", 4,
               [](NetOfBranches& n) {
                 add_gradients(n, {sizes_of(n, "a", {kRows, 3}), sizes_of(n, "b", {kRows, 5})});
               }),
      products("products by transposed weights", 4,
               [](NetOfBranches& n) {
                 add_gradients(n, {sizes_of(n, "a", {kRows, 8}), sizes_of(n, "b", {kRows, 8})}, true);
               }),
      products("products of fewer rows than columns", 4,
               [](NetOfBranches& n) {
                 add_gradients(n, {sizes_of(n, "a", {kRows, 64}), sizes_of(n, "b", {kRows, 64})});
               }),
  };
}

}  // namespace neon::test
