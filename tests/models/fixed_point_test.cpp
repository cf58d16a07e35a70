// Fixed-point numbers: each result by hand, what stays exact, and a net trained in them.
#include "models/fixed_point.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/expression.h"
#include "backends/program.h"
#include "tests/models/trained_net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr FixedPoint kSixteenths{8, 4};  // from -8 to 7.9375

Tensor f32(const Shape& shape, const std::vector<double>& numbers) {
  Tensor out(DType::f32, shape);
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, numbers[size_t(i)]);
  return out;
}

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.at(i));
  return out;
}

struct Rounded {
  Rounded(const Graph& graph, std::vector<std::pair<std::string, Tensor>> given, const Tensor* w = nullptr)
      : inputs(std::move(given)) {
    if (w) variables.declare("w", w->dtype(), w->shape()) = *w;
    program = compile_for_cpu(with_fixed_point(graph, kSixteenths), variables, {.threads = 1});
    for (const auto& [name, tensor] : inputs) program->bind(name, tensor.data());
    program->run(0);
  }
  std::vector<double> output(const std::string& name) const { return numbers_of(program->output(name)); }
  std::vector<std::pair<std::string, Tensor>> inputs;
  Variables variables;
  std::unique_ptr<Program> program;
};

}  // namespace

TEST_CASE("operands are rounded as they are read, results to even and into the range") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {2, 2})), w(graph, graph.variable("w", DType::f32, {2, 2}));
  const Expr y(graph, matmul(graph, x, w));
  graph.output("y", y);
  graph.output("cost", sum(y * y, {0, 1}));
  // 0.1 becomes 2/16, 0.03 becomes 0, 2.03 becomes 2, 0.3 becomes 5/16; 0.125 - 10 is below the range.
  const Tensor weights = f32({2, 2}, {2.03, 1, 0.3, -2});
  const Rounded run(graph, {{"x", f32({2, 2}, {0.1, 5, -3, 0.03})}}, &weights);
  CHECK(run.output("y") == std::vector<double>{1.8125, -8, -6, -3});
  CHECK(run.output("cost") == std::vector<double>{1.8125 * 1.8125 + 64 + 36 + 9});  // measured exactly
}

TEST_CASE("ties go to even multiples, and both ends saturate") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {6}));
  graph.output("y", x * 0.5);
  // Halves of 3/16, 5/16, 7/16 are 1.5, 2.5 and 3.5 sixteenths.
  const Rounded run(graph, {{"x", f32({6}, {3.0 / 16, 5.0 / 16, 7.0 / 16, -3.0 / 16, 100, -100})}});
  // 100 and -100 are 7.9375 and -8 once they are read.
  CHECK(run.output("y") == std::vector<double>{2.0 / 16, 2.0 / 16, 4.0 / 16, -2.0 / 16, 64.0 / 16, -4});
}

TEST_CASE("a mean has an exact sum, another sum saturates; integers stay") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {40, 2})), n(graph, graph.input("n", DType::i32, {1, 2}));
  const Expr total = sum(x, {0});
  SECTION("the mean") {
    graph.output("y", total * (1.0 / 40));
    const Rounded run(graph, {{"x", f32({40, 2}, std::vector<double>(80, 4))}});
    CHECK(run.output("y") == std::vector<double>{4, 4});
  }
  SECTION("the sum") {
    graph.output("y", total * (1.0 / 40));
    graph.assign(graph.variable("w", DType::f32, total.shape()), total);
    const Tensor w = f32(total.shape(), {0, 0});
    Rounded run(graph, {{"x", f32({40, 2}, std::vector<double>(80, 4))}}, &w);
    CHECK(numbers_of(run.variables.at("w")) == std::vector<double>{7.9375, 7.9375});
    CHECK(run.output("y") == std::vector<double>{0.1875, 0.1875});  // 7.9375 / 40 is 3.175 sixteenths
  }
  SECTION("integers") {
    graph.output("y", cast(n, DType::f32) * (1.0 / 64));
    Tensor hundreds(DType::i32, {1, 2});
    hundreds.set(0, 100), hundreds.set(1, 200);
    const Rounded run(graph, {{"n", hundreds}});
    CHECK(run.output("y") == std::vector<double>{1.5625, 3.125});  // 25/16 and 50/16
  }
}

TEST_CASE("a trained net's weights are numbers of the format, and close to f32's where it is fine") {
  const NetData data = drawn_data(DType::f32);
  const auto trained = [&](FixedPoint format) {
    Trained net("{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}", data,
                {.dtype = DType::f32, .batch = 4, .fixed_point = format});
    for (int step = 0; step < 5; ++step) net.run.step(range(4 * step, 4), {});
    return net;
  };
  const auto exact = trained({}), coarse = trained({10, 6}), fine = trained({24, 20});
  for (const Parameter& p : exact.run.graph.parameters) {
    INFO(p.name);
    double moved = 0;
    for (int64_t i = 0; i < p.shape.elements(); ++i) {
      const double sixty_fourths = coarse.run.variables.at(p.name).at(i) * 64;
      CHECK(sixty_fourths == std::rint(sixty_fourths));
      CHECK(fine.run.variables.at(p.name).at(i) == Approx(exact.run.variables.at(p.name).at(i)).margin(1e-4));
      moved = std::max(moved, std::abs(fine.run.variables.at(p.name).at(i) - exact.run.variables.at(p.name).at(i)));
    }
    CHECK(moved > 0);
  }
}

TEST_CASE("a format is written BITS.FRACTION") {
  const auto format = read_fixed_point("16.12", 24);
  REQUIRE(format);
  CHECK(format->step() == std::ldexp(1, -12));
  CHECK(format->largest() == 8 - std::ldexp(1, -12));
  for (const char* wrong : {"", "16", "16.", ".12", "16.16", "1.0", "25.3", "16.-1", "16.12x", "x"})
    CHECK_FALSE(read_fixed_point(wrong, 24));
}
