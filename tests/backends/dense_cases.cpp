#include "tests/backends/dense_cases.h"

#include "backends/graph/expression.h"

namespace neon::test {

namespace {

struct DenseNet {
  DenseNet(Graph& graph, DType dtype) : graph(graph), dtype(dtype) {}
  Expr input(const Shape& shape) { return {graph, graph.input("x", dtype, shape)}; }
  Expr variable(const Shape& shape) { return {graph, graph.variable(text("w", made++), dtype, shape)}; }
  Expr product(Expr x, int64_t nout) { return {graph, matmul(graph, x, variable({nout, x.shape()[1]}), false, true)}; }
  Expr biased(Expr x, int64_t nout) {
    Expr y = product(x, nout);
    return y + variable({nout});
  }
  void end(Expr y) { graph.output("y", y); }

  Graph& graph;
  DType dtype;
  int made = 0;
};

void two_layers(DenseNet net, const Shape& x, int64_t hidden, int64_t nout) {
  net.end(net.biased(apply("relu", net.biased(net.input(x), hidden)), nout));
}

}  // namespace

std::vector<DenseCase> dense_cases() {
  return {
      {"relu between products",
       [](Graph& graph, DType dtype) {
         DenseNet net(graph, dtype);
         net.end(net.product(apply("relu", net.product(net.input({6, 5}), 4)), 3));
       },
       1, 0},
      {"relu and biases",
       [](Graph& graph, DType dtype) {
         two_layers({graph, dtype}, {6, 5}, 4, 3);
       },
       1, 2},
      {"tiles that are full",
       [](Graph& graph, DType dtype) {
         two_layers({graph, dtype}, {40, 32}, 64, 35);
       },
       1, 2},
      {"sums that blocks share",
       [](Graph& graph, DType dtype) {
         two_layers({graph, dtype}, {300, 33}, 31, 10);
       },
       1, 2},
      {"three layers, squares between them",
       [](Graph& graph, DType dtype) {
         DenseNet net(graph, dtype);
         Expr y = net.biased(net.input({6, 5}), 4);
         for (int64_t nout : {3, 2}) y = net.biased(apply("square", y), nout);
         net.end(y);
       },
       2, 3},
      {"somebody else adds to what relu's derivative is given",
       [](Graph& graph, DType dtype) {
         DenseNet net(graph, dtype);
         Expr h = apply("relu", net.biased(net.input({6, 5}), 4));
         net.end(net.biased(h, 4) + h);
       },
       0, 2},
      {"a chain follows relu's derivative",
       [](Graph& graph, DType dtype) {
         DenseNet net(graph, dtype);
         Expr z = net.product(net.input({6, 5}), 4);
         net.end(net.product(apply("relu", z + z), 3));
       },
       0, 0},
  };
}

}  // namespace neon::test
