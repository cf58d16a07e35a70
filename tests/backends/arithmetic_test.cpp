// The arithmetic of a kernel: values of f32 beside f64 are those that a loop of floats makes, however many rows there
// are, and so whichever nodes are of one kernel.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/program.h"

using namespace neon;

namespace {

// The output "y" for the input x (rows,1), whose numbers `draw` makes.
std::vector<double> run(const Graph& graph, const Tensor& x, PassSet also) {
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 1, .also = also});
  program->bind("x", x.data());
  program->run(0);
  const Tensor y = program->output("y");
  std::vector<double> out;
  for (int64_t i = 0; i < y.elements(); ++i) out.push_back(y.at(i));
  return out;
}

Tensor draw(int64_t rows, double first) {
  Tensor out(DType::f32, {rows, 1});
  for (int64_t i = 0; i < rows; ++i) out.set(i, std::abs(std::sin(first + 1.7 * double(i))));
  return out;
}

}  // namespace

TEST_CASE("f32 beside f64 is rounded after each operation, whatever the number of rows") {
  const int64_t rows = GENERATE(1, 2, 7);
  const PassSet also = GENERATE(PassSet{}, PassSet(LowerPass::remake), PassSet(LowerPass::columns));
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {rows, 1}));
  const Expr f = sqrt(x * 0.27 + 1.1) / 0.3 - x;
  // A factor of each of rows x 12 numbers, as the strength of an augmentation.
  const Expr places = cast(Expr(graph, iota(graph, {rows, 12}, 1)), DType::f64);
  graph.output("y", exp(places * 0.01) * cast(f, DType::f64) + cast(apply("less", f, f.constant(4.2)), DType::f64));
  const Tensor numbers = draw(rows, 0.4);
  const std::vector<double> y = run(graph, numbers, also);
  for (int64_t i = 0; i < rows; ++i) {
    const float a = numbers.as<float>()[size_t(i)];
    const float product = a * 0.27f, sum = product + 1.1f, root = std::sqrt(sum), ratio = root / 0.3f;
    const float expected = ratio - a;
    for (int64_t k = 0; k < 12; ++k)
      CHECK(y[size_t(12 * i + k)] ==
            Approx(std::exp(double(k) * 0.01) * double(expected) + (expected < 4.2f ? 1 : 0)).epsilon(1e-14));
  }
}

TEST_CASE("a number that f32 is compared with is one of f32, also in a kernel of f64") {
  const int64_t rows = GENERATE(1, 3);
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {rows, 1}));
  graph.output("y", cast(apply("less", x, x.constant(0.7)), DType::f64) * 0.1);
  Tensor numbers(DType::f32, {rows, 1});
  for (float& number : numbers.as<float>()) number = 0.7f;  // which is below 0.7
  for (const double y : run(graph, numbers, {})) CHECK(y == 0);
}

TEST_CASE("a cast from f64 rounds for readers in its kernel, too") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {1, 1}));
  const Expr third = cast(x, DType::f64) / 3.0;
  graph.output("y", cast(cast(third, DType::f32), DType::f64) * 3.0);
  Tensor one(DType::f32, {1, 1});
  one.set(0, 1);
  CHECK(run(graph, one, {}).front() == 3.0 * double(float(1.0 / 3.0)));
}

// A place in an image is drawn so: floor of a product, which may round up to a whole number.
TEST_CASE("whole numbers that follow from f32 follow from rounded products") {
  const int64_t rows = GENERATE(1, 5);
  std::vector<float> found;
  for (int k = 1; k < 33; ++k)
    for (const float u : {float(k) / 33.0f, std::nextafter(float(k) / 33.0f, 0.0f)})
      if (const float product = u * 33; std::floor(product) != std::floor(double(u) * 33)) found.push_back(u);
  REQUIRE(found.size() >= size_t(rows));
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {rows, 1}));
  graph.output("y", cast(apply("floor", x * 33.0), DType::i32));
  Tensor numbers(DType::f32, {rows, 1});
  for (int64_t i = 0; i < rows; ++i) numbers.as<float>()[size_t(i)] = found[size_t(i)];
  const std::vector<double> y = run(graph, numbers, {});
  for (int64_t i = 0; i < rows; ++i) {
    const float product = found[size_t(i)] * 33;
    CHECK(y[size_t(i)] == std::floor(product));
  }
}

TEST_CASE("whole numbers beyond those of f32 are counted") {
  constexpr int64_t kRows = 4099, kColumns = 4097;  // 16793603, more than 2^24 and odd
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {1, 1}));
  const Expr places(graph, iota(graph, {kRows, kColumns}, 1));
  graph.output("y", cast(sum(apply("greater_equal", places, x), {0, 1}), DType::i32));
  CHECK(run(graph, Tensor(DType::f32, {1, 1}), {}).front() == double(kRows * kColumns));
}

TEST_CASE("rows that are exact give f64 the numbers that they give f32") {
  constexpr int64_t kCount = 4096;
  int tried = 0;
  for (const elementwise::Row& row : elementwise::rows()) {
    if (!find_op(row.name)->traits.exact) continue;
    ++tried;
    std::vector<float> narrow[3], y(kCount);
    std::vector<double> wide[3], z(kCount);
    const float* of_f32[3];
    const double* of_f64[3];
    for (int k = 0; k < 3; ++k) {
      for (int64_t i = 0; i < kCount; ++i) {
        const double drawn = std::sin(double((k + 3) * i)) * std::exp2(double(i % 40 - 20));
        narrow[k].push_back(i % 5 == k ? float(i % 7 - 3) : float(drawn));
        wide[k].push_back(double(narrow[k].back()));
      }
      of_f32[k] = narrow[k].data(), of_f64[k] = wide[k].data();
    }
    elementwise::block_function<float>(row)(of_f32, y.data(), kCount);
    elementwise::block_function<double>(row)(of_f64, z.data(), kCount);
    INFO(row.name);
    for (size_t i = 0; i < size_t(kCount); ++i) REQUIRE(z[i] == double(y[i]));
  }
  CHECK(tried > 10);
}
