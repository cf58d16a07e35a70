// Multiplications and additions that ops declare, counted by the loops of their definitions.
#include "backends/graph/flops.h"

#include <catch2/catch.hpp>

#include "backends/graph/boxes.h"
#include "backends/graph/expression.h"
#include "backends/graph/label_sequences.h"
#include "backends/graph/ops.h"
#include "backends/graph/sign_product.h"
#include "backends/graph/windows.h"

using namespace neon;

namespace {

double flops_of_last(const Graph& graph) { return flops_of(graph, graph.node_count() - 1, graph.node_count()); }

// Of filters (K,R,S,C/groups) over images (N,H,W,C) with strides 2 and padding 1: a loop over all that it multiplies.
double counted(const Shape& x, const Shape& w, const Shape& y) {
  double count = 0;
  for (int64_t at = 0; at < y.elements(); ++at)
    for (int64_t r = 0; r < w[1]; ++r)
      for (int64_t s = 0; s < w[2]; ++s)
        for (int64_t c = 0; c < w[3]; ++c) count += 2;
  CHECK(x[3] % w[3] == 0);
  return count;
}

}  // namespace

TEST_CASE("a convolution and both of its gradients multiply as often") {
  for (const int64_t groups : {1, 2}) {
    Graph graph;
    const Shape x{2, 7, 5, 4}, w{6, 3, 2, 4 / groups};
    const Value images = graph.input("x", DType::f32, x), filters = graph.input("w", DType::f32, w);
    const Windows windows{{3, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
    const Value y = convolution(graph, images, filters, windows, groups);
    const double expected = counted(x, w, graph.shape(y));
    CHECK(flops_of_last(graph) == expected);
    deconvolution(graph, y, filters, windows, groups, {7, 5});
    CHECK(flops_of_last(graph) == expected);
    graph.add(ops::convolution_weight_gradient, {images, y},
              graph.producer(y).attributes.with("sizes", std::vector<int64_t>{3, 2}));
    CHECK(flops_of_last(graph) == expected);
  }
}

TEST_CASE(
    "each step of CTC takes six operations for each label, and each blank around them; its gradient twice as many") {
  Graph graph;
  const auto given = [&](const char* name, DType dtype, const Shape& shape) { return graph.input(name, dtype, shape); };
  const Value z = given("z", DType::f32, {2, 7, 5}), labels = given("labels", DType::i32, {2, 3}),
              lengths = given("lengths", DType::i32, {2});
  const Value cost = ctc(graph, z, labels, lengths, 0);
  CHECK(flops_of_last(graph) == 2 * 7 * (3 + 4) * 6);
  graph.add(ops::ctc_grad, {z, labels, lengths, cost}, {{"blank", int64_t(0)}});
  CHECK(flops_of_last(graph) == 2 * 2 * 7 * (3 + 4) * 6);
  edit_distance(graph, labels, given("other", DType::i32, {2, 4}));
  CHECK(flops_of_last(graph) == 3 * 2 * 3 * 4);
}

TEST_CASE("non-maximum suppression compares each chosen box with all others") {
  for (const int64_t most : {4, 90}) {
    Graph graph;
    suppressed(graph, graph.input("boxes", DType::f32, {2, 50, 4}), graph.input("scores", DType::f32, {2, 3, 50}),
               {.most = most});
    CHECK(flops_of_last(graph) == 11 * 2 * 3 * 50 * std::min<int64_t>(most, 50));
  }
}

TEST_CASE("products multiply and add, whichever operand is transposed") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      Graph graph;
      const auto given = [&](const char* name, const Shape& shape) { return graph.input(name, DType::f32, shape); };
      matmul(graph, given("a", ta ? Shape{5, 3} : Shape{3, 5}), given("b", tb ? Shape{7, 5} : Shape{5, 7}), ta, tb);
      CHECK(flops_of_last(graph) == 2 * 3 * 5 * 7);
      graph.add(ops::batch_matmul,
                {given("c", ta ? Shape{4, 5, 3} : Shape{4, 3, 5}), given("d", tb ? Shape{4, 7, 5} : Shape{4, 5, 7})},
                {{"transpose_a", int64_t(ta)}, {"transpose_b", int64_t(tb)}});
      CHECK(flops_of_last(graph) == 4 * 2 * 3 * 5 * 7);
    }
  Graph graph;
  sign_product(graph, graph.input("a", DType::f32, {3, 5}), graph.input("b", DType::f32, {7, 5}));
  CHECK(flops_of_last(graph) == 2 * 3 * 5 * 7);
}

TEST_CASE("elementwise ops count once together, and not at all beside a product") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {3, 5})), w(graph, graph.input("w", DType::f32, {5, 7}));
  const int first = graph.node_count();
  const Expr y = exp(x * 2.0 + 1.0);
  CHECK(flops_of(graph, first, graph.node_count()) == 15);
  matmul(graph, y, w);
  CHECK(flops_of(graph, first, graph.node_count()) == 2 * 3 * 5 * 7);
  const int moves = graph.node_count();
  transpose(graph, reshape(x, {5, 3}), {1, 0});
  CHECK(flops_of(graph, moves, graph.node_count()) == 0);
  const int folds = graph.node_count();
  sum(x, {1});
  CHECK(flops_of(graph, folds, graph.node_count()) == 15);
}
