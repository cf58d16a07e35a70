#include "tests/backends/addend_cases.h"

#include "tests/backends/net_of_branches.h"

namespace neon::test {

namespace {

const Shape kImage = {3, 6, 5, 16};

AddendCase of_image(const char* name, int taken, bool exact, BuildBranches build) {
  return {name, over(kImage, build), taken, exact};
}

Expr relu(Expr x) { return apply("relu", x); }

// `product` of rows a, and a bias, added to other rows.
AddendCase of_rows(const char* name, int64_t rows, int64_t columns, int64_t inner) {
  return {name, [=](Graph& graph, DType dtype) {
            const Expr a(graph, graph.input("a", dtype, {rows, inner})), b(graph, graph.input("b", dtype, {rows, 8}));
            const Expr w(graph, graph.variable("w", dtype, {inner, columns})),
                bias(graph, graph.variable("bias", dtype, {columns})),
                other(graph, graph.variable("other", dtype, {8, columns}));
            const Expr before(graph, matmul(graph, b, other)), product(graph, matmul(graph, a, w));
            graph.output("z", relu(before + (product + bias)));
          }};
}

std::vector<AddendCase> made_with_results() {
  return {
      of_image("pixels", 1, true,
               [](NetOfBranches& n) {
                 const Expr x = n.layer(n.x, 16);
                 n.output("z", relu(n.product(n.layer(x, 8), 16, 1) + n.variable({16}) + x));
               }),
      of_image("filters of 3 x 3", 1, false,
               [](NetOfBranches& n) {
                 const Expr x = n.layer(n.x, 24, 3);
                 n.output("z", relu(x + (n.product(n.layer(x, 8), 24, 3) + n.variable({24}))));
               }),
      of_image("without bias and relu", 1, false,
               [](NetOfBranches& n) {
                 const Expr x = n.layer(n.x, 8);
                 n.output("z", n.product(x, 8, 3) + x);
               }),
      of_image("two convolutions", 1, true,
               [](NetOfBranches& n) { n.output("z", relu(n.product(n.x, 24, 3) + n.product(n.x, 24, 1))); }),
      of_image("two blocks", 2, false,
               [](NetOfBranches& n) {
                 Expr x = n.layer(n.part(n.x, 3, 0, 8), 8);
                 for (int block = 0; block < 2; ++block) x = relu(n.product(x, 8, 3) * 0.5 + n.variable({8}) + x);
                 n.output("z", n.product(x, 8, 1));
               }),
      of_image("odd channels", 1, true,
               [](NetOfBranches& n) {
                 const Expr x = n.layer(n.x, 9);
                 const Expr y = relu(n.product(n.layer(x, 7), 9, 1) + n.variable({9}) + x);
                 n.output("z", relu(n.product(y, 9, 3) + y));  // not this one
               }),
      of_rows("rows", 1024, 2048, 16),
      of_rows("few rows", 32, 24, 40),
      {"gradients of weights that two layers share, beside those of biases",
       [](Graph& graph, DType dtype) {
         const Expr x(graph, graph.input("x", dtype, {6, 8})), w(graph, graph.variable("w", dtype, {8, 8}));
         const auto layer = [&](Expr from, const char* bias) {
           return Expr(graph, matmul(graph, from, w)) + Expr(graph, graph.variable(bias, dtype, {8}));
         };
         graph.output("y", layer(relu(layer(x, "first")), "second"));
       }},
  };
}

std::vector<AddendCase> made_apart() {
  return {
      of_image("an input", 0, true, [](NetOfBranches& n) { n.output("z", relu(n.product(n.x, 16, 1) + n.x)); }),
      of_image("groups", 0, true,
               [](NetOfBranches& n) {
                 const Expr x = n.layer(n.x, 16);
                 n.output("z", relu(n.product(x, 16, 3, 2) + x));
               }),
      of_image("a sum whose mean is wanted", 0, true,
               [](NetOfBranches& n) {
                 const Expr x = n.layer(n.x, 16);
                 n.output("z", mean(relu(n.product(x, 16, 1) + x), {1, 2}));
               }),
      of_image("a sum that is concatenated", 0, true,
               [](NetOfBranches& n) {
                 const Expr x = n.layer(n.x, 16);
                 n.output("z", n.product(n.joined({relu(n.product(x, 16, 1) + x), n.layer(x, 8)}), 8, 1));
               }),
      of_image("twice the result", 0, true,
               [](NetOfBranches& n) {
                 const Expr y = n.product(n.x, 16, 1);
                 n.output("z", relu(y + y));
               }),
      of_image("what follows from the result", 0, true,
               [](NetOfBranches& n) {
                 const Expr y = n.product(n.layer(n.x, 16), 16, 1);
                 n.output("z", n.layer(y, 16) + y);
                 n.output("y", n.product(n.x, 8, 1));
               }),
  };
}

}  // namespace

std::vector<AddendCase> addend_cases() {
  std::vector<AddendCase> out = made_with_results();
  for (AddendCase& c : made_apart()) out.push_back(std::move(c));
  return out;
}

}  // namespace neon::test
