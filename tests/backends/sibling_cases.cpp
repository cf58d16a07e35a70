#include "tests/backends/sibling_cases.h"

#include "tests/backends/net_of_branches.h"

namespace neon::test {

namespace {

const Shape kLarge = {2, 16, 16, 8};

SiblingCase siblings(const char* name, int data, int weights, BuildBranches build) {
  return {name, over(kLarge, build), data, weights};
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
  };
}

}  // namespace neon::test
