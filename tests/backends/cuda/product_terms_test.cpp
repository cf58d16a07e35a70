// Products of f32 as sums of terms of TF32, on the GPU.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "backends/graph/expression.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

struct ProductOf {
  int64_t rows, inner, columns;
  bool turned_a = false, turned_b = false;
  bool bias = false, addend = false, relu = false;
  std::string to_string() const {
    return text("(", rows, ",", inner, ")", turned_a ? " turned" : "", " by (", inner, ",", columns, ")",
                turned_b ? " turned" : "", bias ? " + bias" : "", addend ? " + array" : "", relu ? ", relu" : "");
  }
};

// Each is large enough for terms without the clock. Tiles have 128 results each way, units 32 numbers.
const std::vector<ProductOf> kProducts = {
    {1024, 512, 1024},
    {1000, 700, 900, false, false, true, false, true},
    {900, 1000, 700, true, false, false, true, false},
    {700, 900, 1001, false, true, true, true, true},  // rows of c do not begin at pairs
    {1000, 1100, 500, true, true, true},
    {72, 4096, 4096, false, false, false, false, true},
    {128, 40'000, 128, true, false},  // one tile for all blocks
    {100'001, 100, 100, false, true, true},
};

Graph graph_of(const ProductOf& p, DType dtype) {
  Graph graph;
  const Value a = graph.input("a", dtype, p.turned_a ? Shape{p.inner, p.rows} : Shape{p.rows, p.inner}),
              b = graph.input("b", dtype, p.turned_b ? Shape{p.columns, p.inner} : Shape{p.inner, p.columns});
  Expr c(graph, matmul(graph, a, b, p.turned_a, p.turned_b));
  if (p.bias) c = c + Expr(graph, graph.variable("bias", dtype, {p.columns}));
  if (p.addend) c = c + Expr(graph, graph.input("addend", dtype, {p.rows, p.columns}));
  graph.output("c", p.relu ? apply("relu", c) : c);
  return graph;
}

// The result for what `number` gives for element i of an array.
template <typename Number>
Tensor result_of(const ProductOf& p, DType dtype, const DeviceOptions& options, const Number& number) {
  const Graph graph = graph_of(p, dtype);
  Variables variables;
  const auto program = compile_program(graph, variables, options);
  if (options.gpu) CHECK(program->implementations().at(0) == "terms");
  if (p.bias) {
    for (int64_t i = 0; i < p.columns; ++i) variables.at("bias").set(i, number("bias", i));
    variables.to_device();
  }
  std::map<std::string, Tensor> data;
  for (const Value leaf : graph.leaves(LeafKind::input)) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    Tensor& to = data.emplace(name, Tensor(dtype, graph.shape(leaf))).first->second;
    for (int64_t i = 0; i < to.elements(); ++i) to.set(i, number(name, i));
    program->bind(name, to.data());
  }
  program->run(0);
  return program->output("c").clone();
}

const DeviceOptions kOnGpu{.gpu = true};

double whole(const std::string& name, int64_t i) { return double((i * 5 + i / 7 + int64_t(name.size())) % 7) - 3; }

}  // namespace

TEST_CASE("products of f32 as sums of terms are exact for small whole numbers, on the GPU", "[terms]") {
  for (const ProductOf& p : kProducts) {
    INFO(p.to_string());
    const Tensor c = result_of(p, DType::f32, kOnGpu, whole);
    CHECK(difference(c, result_of(p, DType::f32, {}, whole)) == "");
  }
}

// A term has 11 bits, two have 22 and a sign; the sums of 32 numbers are cut off. TF32 alone is off by 4000 roundoffs.
TEST_CASE("sums of terms are as exact as sums of f32, for numbers of both signs and of one, on the GPU", "[terms]") {
  for (const bool positive : {false, true})
    for (const ProductOf& p : {ProductOf{1024, 512, 1024}, ProductOf{512, 3200, 512, true}}) {
      INFO(p.to_string() << (positive ? ", of one sign" : ""));
      const auto number = [&](const std::string& name, int64_t i) {
        const double x = double(Stream(uint64_t(i), name).normal());
        return double(float(positive ? std::abs(x) : x));
      };
      const Tensor got = result_of(p, DType::f32, kOnGpu, number), exact = result_of(p, DType::f64, {}, number);
      double off = 0, size = 0;
      for (int64_t i = 0; i < got.elements(); ++i) {
        const double error = got.at(i) - exact.at(i);
        off += error * error, size += exact.at(i) * exact.at(i);
      }
      CHECK(std::sqrt(off / size) < 12 * unit_roundoff(DType::f32));
      CHECK(same_bits(got, result_of(p, DType::f32, kOnGpu, number)));
    }
}

TEST_CASE("sums of terms keep NaN, and relu does", "[terms]") {
  const ProductOf p{1024, 512, 1024, false, false, false, false, true};
  const auto number = [](const std::string& name, int64_t i) {
    return name == "a" && i == 3 * 512 + 7 ? std::numeric_limits<double>::quiet_NaN() : whole(name, i);
  };
  const Tensor c = result_of(p, DType::f32, kOnGpu, number);
  int64_t broken = 0;
  for (int64_t i = 0; i < c.elements(); ++i) broken += std::isnan(c.at(i));
  CHECK(broken == 1024);  // the results of row 3
  CHECK(std::isnan(c.at(3 * 1024)));
}
