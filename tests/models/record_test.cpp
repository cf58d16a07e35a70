// Numbers of the step record where an array is wanted: reshaped, put out, assigned, multiplied as a matrix.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("a number of the step record can stand wherever an array does") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    Graph graph;
    Expr rate(graph, graph.scalar("rate", arithmetic.dtype));
    Expr kept(graph, graph.variable("kept", arithmetic.dtype, {1, 1}));
    Expr matrix = reshape(rate, {1, 1});
    graph.output("rate", rate);
    graph.output("twice", reshape(rate * 2.0, {1}));
    graph.output("constant", rate.constant(7));
    graph.output("product", matmul(graph, matrix, broadcast_to(graph, kept, {1, 3})));
    graph.assign(kept, matrix);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, arithmetic.options);
    for (int step = 1; step <= 3; ++step) {
      program->set_scalar("rate", 0.5 * step);
      program->run(uint64_t(step));
      CHECK(program->output("rate").at(0) == 0.5 * step);
      CHECK(program->output("twice").at(0) == step);
      CHECK(program->output("constant").at(0) == 7);
      CHECK(program->output("product").at(2) == 0.5 * step * 0.5 * (step - 1));
      CHECK(variables.at("kept").at(0) == 0.5 * step);
    }
  }
}
