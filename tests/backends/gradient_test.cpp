// Gradient rules in f64: against central differences of the plain forward kernels with a random cotangent, for
// every op and input that has one; and the rules of compound ops against gradients derived from their definitions.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kMostElements = 300;  // of an input whose elements are varied one by one

bool is_input_differentiable(const OpCase& c, size_t input) {
  const Op& op = *find_op(c.op);
  if (!op.gradient || !is_floating(c.inputs[input].fixed)) return false;
  if (op.is_elementwise()) return op.row->derivatives[input] != nullptr;
  if (c.op == "region_max") return input == 0;
  if (c.op == "cast") return is_floating(DType(c.attributes.integer("dtype")));
  return true;
}

// The op with its first output weighted by "seed" and summed: "total", and the gradients of the inputs, "grad0", ...
struct Weighted {
  Graph graph;
  Shape seed_shape;
  std::vector<Value> gradients;
};

Weighted weighted(const OpCase& c) {
  Weighted out;
  Graph& graph = out.graph;
  const std::vector<Value> results = build_case(graph, c, DType::f64);
  out.seed_shape = graph.shape(results[0]);
  const Value seed = graph.input("seed", DType::f64, out.seed_shape);
  std::vector<Value> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    inputs.push_back(graph.input(text("in", i), case_type(c.inputs[i], DType::f64), c.inputs[i].shape));
  out.gradients = gradients(graph, results[0], inputs, seed);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (out.gradients[i]) graph.output(text("grad", i), out.gradients[i]);
  return out;
}

Tensor random_seed(const OpCase& c, const Shape& shape) {
  Tensor seed(DType::f64, shape);
  Stream stream(5, c.to_string());
  for (double& s : seed.as<double>()) s = stream.uniform() * 2 - 1;
  return seed;
}

// Sum of seed times the op's first output, by the plain kernels.
class Forward {
 public:
  Forward(const OpCase& c, const Tensor& seed, const std::vector<Tensor>& inputs) : seed_(seed) {
    Graph graph;
    build_case(graph, c, DType::f64);
    program_ = compile_for_cpu(graph, variables_, {.plain = true});
    for (size_t i = 0; i < inputs.size(); ++i) program_->bind(text("in", i), inputs[i].data());
  }
  double operator()() {
    program_->run(3);
    const Tensor y = program_->output("out0");
    double total = 0;
    for (int64_t i = 0; i < y.elements(); ++i) total += seed_.at(i) * y.at(i);
    return total;
  }

 private:
  const Tensor& seed_;
  Variables variables_;
  std::unique_ptr<Program> program_;
};

void check_case(const OpCase& c) {
  INFO(c.to_string());
  Weighted made = weighted(c);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    INFO("input " << i);
    REQUIRE(bool(made.gradients[i]) == is_input_differentiable(c, i));
  }
  if (made.graph.outputs().empty() || !c.differentiable) return;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(case_data(c, i, DType::f64, DType::f64));
  const Tensor seed = random_seed(c, made.seed_shape);
  Variables variables;
  const auto program = compile_for_cpu(made.graph, variables);
  for (size_t i = 0; i < inputs.size(); ++i) program->bind(text("in", i), inputs[i].data());
  program->bind("seed", seed.data());
  program->run(3);
  Forward forward(c, seed, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!made.gradients[i] || inputs[i].elements() > kMostElements) continue;
    const Tensor got = program->output(text("grad", i));
    REQUIRE(got.shape() == inputs[i].shape());
    Tensor expected(DType::f64, got.shape());
    for (int64_t k = 0; k < expected.elements(); ++k) {
      constexpr double h = 1e-5;  // truncation h^2 and rounding 2^-53 / h are both about 1e-10
      const double x = inputs[i].at(k);
      inputs[i].set(k, x + h);
      const double above = forward();
      inputs[i].set(k, x - h);
      const double below = forward();
      inputs[i].set(k, x);
      expected.set(k, (above - below) / (2 * h));
    }
    INFO("gradient of input " << i);
    std::vector<double> allowed;
    for (int64_t k = 0; k < expected.elements(); ++k) allowed.push_back(2e-8 * std::max(1.0, std::abs(expected.at(k))));
    CHECK(difference(got, expected, allowed) == "");
  }
}

}  // namespace

TEST_CASE("gradients are the slopes of the functions", "[op]") {
  for (const OpCase& c : all_cases())
    if (!c.inputs.empty() && c.op != "input" && c.op != "variable") check_case(c);
}

TEST_CASE("sources and indices have no gradient") {
  for (const char* op : {"iota", "uniform", "keyed_uniform", "round_stochastic", "argmax", "equal", "sign"}) {
    INFO(op);
    CHECK(!find_op(op)->gradient);
  }
}

TEST_CASE("a scaled gradient is its multiple, of the same numbers") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f64, {3}));
  const Expr y = square(Expr(graph, graph.add("scale_gradient", {x}, {{"factor", 0.25}})));
  const Value wanted[] = {x};
  graph.output("y", y);
  graph.output("grad", gradients(graph, y, wanted)[0]);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables);
  const double data[] = {-1, 2, 3};
  program->bind("x", data);
  program->run(0);
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(program->output("y").at(i) == data[i] * data[i]);
    CHECK(program->output("grad").at(i) == 0.25 * 2 * data[i]);
  }
}

TEST_CASE("equal extrema share the gradient evenly, as PyTorch's do") {
  for (const std::string op : {"max", "min"}) {
    INFO(op);
    Graph graph;
    const Value x = graph.input("x", DType::f64, {2, 4}), seed = graph.input("seed", DType::f64, {2, 1});
    const Value y = graph.add(op, {x}, {{"axes", std::vector<int64_t>{1}}}), wanted[] = {x};
    graph.output("grad", gradients(graph, y, wanted, seed)[0]);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables);
    const double sign = op == "max" ? 1 : -1, row[] = {1, 3, 3, 2, 3, 3, 3, 5}, seeds[] = {3, 7};
    std::vector<double> data;
    for (double value : row) data.push_back(sign * value);
    program->bind("x", data.data());
    program->bind("seed", seeds);
    program->run(0);
    const double expected[] = {0, 1.5, 1.5, 0, 0, 0, 0, 7};
    for (int64_t i = 0; i < 8; ++i) CHECK(program->output("grad").at(i) == expected[i]);
  }
}

TEST_CASE("rules of compound ops are the gradients of their definitions") {
  int compared = 0;
  for (const Op* op : all_ops()) {
    if (!op->define || !op->gradient) continue;
    for (const OpCase& c : cases_of(*op)) {
      INFO(c.to_string());
      Weighted by_rule = weighted(c);
      Weighted derived;
      Graph& graph = derived.graph;
      std::vector<Value> inputs;
      for (size_t i = 0; i < c.inputs.size(); ++i)
        inputs.push_back(graph.input(text("in", i), case_type(c.inputs[i], DType::f64), c.inputs[i].shape));
      const Value y = op->define(graph, Node{op, inputs, {}, c.attributes, ""})[0];
      const Value seed_value = graph.input("seed", DType::f64, graph.shape(y));
      const auto results = gradients(graph, y, inputs, seed_value);
      std::vector<size_t> differentiable;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (is_floating(c.inputs[i].fixed)) differentiable.push_back(i);
      for (const size_t i : differentiable) graph.output(text("grad", i), results[i]);

      const Tensor seed = random_seed(c, graph.shape(y));
      std::vector<Tensor> data;
      for (size_t i = 0; i < inputs.size(); ++i) data.push_back(case_data(c, i, DType::f64, DType::f64));
      std::vector<std::vector<Tensor>> got(2);
      for (int which : {0, 1}) {
        Variables variables;
        const auto program = compile_for_cpu(which ? graph : by_rule.graph, variables, {.plain = which == 1});
        for (size_t i = 0; i < inputs.size(); ++i) program->bind(text("in", i), data[i].data());
        program->bind("seed", seed.data());
        program->run(0);
        for (const size_t i : differentiable) got[size_t(which)].push_back(program->output(text("grad", i)).clone());
      }
      for (size_t k = 0; k < differentiable.size(); ++k) {
        INFO("gradient of input " << differentiable[k]);
        // Statistics of n numbers divide by a deviation of at least sqrt(0.001).
        CHECK(difference(got[0][k], got[1][k], 1e-12 * double(c.length)) == "");
        ++compared;
      }
    }
  }
  CHECK(compared > 20);
}
