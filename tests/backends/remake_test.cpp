// What a kernel makes again rather than reads: which values, and that nothing else changes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "backends/graph/expression.h"
#include "backends/graph/lower.h"
#include "backends/program.h"

using namespace neon;

namespace {

constexpr int64_t kRows = 64, kColumns = 48;

double element(int64_t i) { return std::sin(double(7 * i % 1000)) + 0.25 * double(i % kColumns); }

// Fused kernels that store a whole (kRows, kColumns) array of f32.
int wide_stores(const Graph& graph) {
  const Lowered lowered = lower(graph, {.passes = kUsualPasses | LowerPass::remake});
  int found = 0;
  for (const LoweredKernel& kernel : lowered.kernels)
    for (Value value : kernel.outputs) {
      const TensorType& type = lowered.graph.type(value);
      found += kernel.fused && type.dtype == DType::f32 && type.shape.elements() == kRows * kColumns;
    }
  return found;
}

// The (kRows, kColumns) arrays of bf16 that the kernel with output `name` reads, and whether x is one of them.
std::pair<int, bool> wide_reads(const Graph& graph, const std::string& name) {
  const Lowered lowered = lower(graph, {.passes = kUsualPasses | LowerPass::remake});
  int found = 0;
  bool reads_x = false;
  for (const LoweredKernel& kernel : lowered.kernels) {
    if (!std::ranges::count(kernel.outputs, lowered.graph.outputs().at(name))) continue;
    for (Value value : kernel.inputs) {
      const TensorType& type = lowered.graph.type(value);
      found += type.dtype == DType::bf16 && type.shape == Shape{kRows, kColumns};
      const Node& maker = lowered.graph.producer(value);
      reads_x = reads_x || (maker.op->traits.leaf == LeafKind::input && maker.attributes.string("name") == "x");
    }
  }
  return {found, reads_x};
}

// x (64,48) bf16, its columns normalised: n = (x - mean) / deviation in f32; a product with w (48,48) stands between
// the kernel that makes n and another that reads it.
struct SmallNet {
  Graph graph;
  Expr x{graph, graph.input("x", DType::bf16, {kRows, kColumns})};
  Expr w{graph, graph.input("w", DType::bf16, {kColumns, kColumns})};

  Expr normal(Expr from) {
    Expr wide = cast(from, DType::f32);
    Expr centred = wide - mean(wide, {0});
    return centred * apply("rsqrt", mean(square(centred), {0}) + 0.01);
  }
  Expr product(Expr left) { return cast(Expr(graph, matmul(graph, cast(left, DType::bf16), w)), DType::f32); }

  std::map<std::string, std::vector<double>> run(const ProgramOptions& options) {
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, options);
    Tensor data(DType::bf16, {kRows, kColumns}), identity(DType::bf16, {kColumns, kColumns});
    for (int64_t i = 0; i < data.elements(); ++i) data.set(i, element(i));
    for (int64_t i = 0; i < kColumns * kColumns; ++i) identity.set(i, i % (kColumns + 1) == 0 ? 1 : 0);
    if (variables.has("v"))
      for (int64_t i = 0; i < variables.at("v").elements(); ++i) variables.at("v").set(i, element(i));
    Tensor ones(DType::f32, {kRows, kColumns});
    for (int64_t i = 0; i < ones.elements(); ++i) ones.set(i, 1);
    for (Value leaf : graph.leaves(LeafKind::input))
      if (graph.type(leaf).dtype == DType::f32)
        program->bind(graph.producer(leaf).attributes.string("name"), ones.data());
    program->bind("x", data.data());
    program->bind("w", identity.data());
    program->run(0);
    std::map<std::string, std::vector<double>> out;
    for (const auto& [name, value] : graph.outputs())
      for (int64_t i = 0; i < graph.shape(value).elements(); ++i) out[name].push_back(program->output(name).at(i));
    return out;
  }
  // Fused and plain; a sum over 64 rows of numbers below 10, products rounded to 8 bits on the way.
  void check(const std::string& name, const std::vector<double>& expected) {
    for (const ProgramOptions& options :
         {ProgramOptions{.threads = 2, .also = LowerPass::remake}, ProgramOptions{.plain = true}}) {
      const auto got = run(options);
      INFO(name << (options.plain ? " plain" : " fused"));
      REQUIRE(got.at(name).size() == expected.size());
      for (size_t i = 0; i < expected.size(); ++i)
        CHECK(got.at(name)[i] == Approx(expected[i]).epsilon(0.01).margin(0.05));
    }
  }
};

double rounded(double number) {
  Tensor one(DType::bf16, {1});
  one.set(0, number);
  return one.at(0);
}

// Of each column: the sum over rows of n * n, by loops.
std::vector<double> sums_of_squares() {
  std::vector<double> out;
  for (int64_t c = 0; c < kColumns; ++c) {
    double mean = 0, variance = 0, sum = 0;
    auto at = [&](int64_t r) { return rounded(element(r * kColumns + c)); };
    for (int64_t r = 0; r < kRows; ++r) mean += at(r) / double(kRows);
    for (int64_t r = 0; r < kRows; ++r) variance += (at(r) - mean) * (at(r) - mean) / double(kRows);
    for (int64_t r = 0; r < kRows; ++r) sum += (at(r) - mean) * (at(r) - mean) / (variance + 0.01);
    out.push_back(sum);
  }
  return out;
}

}  // namespace

TEST_CASE("what follows cheaply from 16 bits is made again, not stored in 32") {
  SmallNet net;
  Expr normal = net.normal(net.x);
  net.graph.output("y", sum(normal * net.product(normal), {0}));
  CHECK(wide_stores(net.graph) == 0);
  net.check("y", sums_of_squares());
}

TEST_CASE("two kernels make it, each for itself") {
  SmallNet net;
  Expr normal = net.normal(net.x);
  Expr first = net.product(normal);
  net.graph.output("y", sum(normal * first, {0}));
  net.graph.output("z", sum(normal * net.product(first), {0}));
  CHECK(wide_stores(net.graph) == 0);
  net.check("y", sums_of_squares());
  net.check("z", sums_of_squares());
}

TEST_CASE("what the caller wants is stored, and read from there") {
  SmallNet net;
  Expr normal = net.normal(net.x);
  net.graph.output("n", normal);
  net.graph.output("y", sum(normal * net.product(normal), {0}));
  CHECK(wide_stores(net.graph) == 1);
  net.check("y", sums_of_squares());
}

TEST_CASE("what is dear is stored") {
  SmallNet net;
  Expr power = apply("softplus", net.normal(net.x));
  net.graph.output("y", sum(power * net.product(power), {0}));
  CHECK(wide_stores(net.graph) == 1);
}

TEST_CASE("activations of an exponential and a division are made again") {
  for (const char* row : {"tanh", "logistic", "swish", "gelu", "gelu_tanh"}) {
    INFO(row);
    SmallNet net;
    Expr active = apply(row, net.normal(net.x));
    net.graph.output("y", sum(active * net.product(active), {0}));
    CHECK(wide_stores(net.graph) == 0);
  }
  for (const char* row : {"elu", "leaky_relu"}) {
    INFO(row);
    SmallNet net;
    const Expr normal = net.normal(net.x), active = apply(row, normal, normal.constant(0.5));
    net.graph.output("y", sum(active * net.product(active), {0}));
    CHECK(wide_stores(net.graph) == 0);
  }
}

TEST_CASE("what is stored for a product is made again where all it is made from is read anyway") {
  SmallNet net;
  Expr half = cast(apply("relu", net.normal(net.x)), DType::bf16);
  Expr product(net.graph, matmul(net.graph, half, net.w));
  net.graph.output("y", sum(half * product * net.x, {0}));
  const auto [count, reads_x] = wide_reads(net.graph, "y");
  CHECK(count == 2);
  CHECK(reads_x);
  std::vector<double> expected;
  for (int64_t c = 0; c < kColumns; ++c) {
    double mean = 0, variance = 0, sum = 0;
    auto at = [&](int64_t r) { return rounded(element(r * kColumns + c)); };
    for (int64_t r = 0; r < kRows; ++r) mean += at(r) / double(kRows);
    for (int64_t r = 0; r < kRows; ++r) variance += (at(r) - mean) * (at(r) - mean) / double(kRows);
    for (int64_t r = 0; r < kRows; ++r) sum += std::pow(std::max(at(r) - mean, 0.0), 2) / (variance + 0.01) * at(r);
    expected.push_back(sum);
  }
  net.check("y", expected);
}

TEST_CASE("what is stored for a product is read where what it is made from is not") {
  SmallNet net;
  Expr half = cast(apply("relu", net.normal(net.x)), DType::bf16);
  net.graph.output("y", sum(half * Expr(net.graph, matmul(net.graph, half, net.w)), {0}));
  const auto [count, reads_x] = wide_reads(net.graph, "y");
  CHECK(count == 2);
  CHECK(!reads_x);
}

TEST_CASE("the exponentials of softmax are made again") {
  SmallNet net;
  Expr wide = cast(net.x, DType::f32), power = exp(wide - max(wide, {1}));
  net.graph.output("y", sum(power * net.product(power), {0}));
  CHECK(wide_stores(net.graph) == 0);
  std::vector<double> expected(kColumns);
  for (int64_t r = 0; r < kRows; ++r) {
    double most = -100;
    for (int64_t c = 0; c < kColumns; ++c) most = std::max(most, rounded(element(r * kColumns + c)));
    for (int64_t c = 0; c < kColumns; ++c)
      expected[size_t(c)] += std::exp(2 * (rounded(element(r * kColumns + c)) - most));
  }
  net.check("y", expected);
}

TEST_CASE("a row of weights is read again, before the step writes it") {
  SmallNet net;
  Expr v(net.graph, net.graph.variable("v", DType::f32, {1, kColumns}));
  Expr scaled = cast(net.x, DType::f32) * v, product = net.product(scaled);
  net.graph.assign(v, v * 0.0);
  net.graph.output("y", sum(scaled * product, {0}));
  CHECK(wide_stores(net.graph) == 0);
  std::vector<double> expected(kColumns);
  for (int64_t i = 0; i < kRows * kColumns; ++i)
    expected[size_t(i % kColumns)] += std::pow(rounded(element(i)) * element(i % kColumns), 2);
  net.check("y", expected);
}

TEST_CASE("what comes from more than it takes is stored") {
  SmallNet net;
  Expr a = cast(net.x, DType::f32), more = a;
  for (const char* name : {"p", "q", "r"})
    more = more + cast(Expr(net.graph, net.graph.input(name, DType::f32, {kRows, kColumns})), DType::f32);
  net.graph.output("y", sum(more * net.product(more), {0}));
  CHECK(wide_stores(net.graph) == 1);
}

TEST_CASE("a variable that changes in the step is not read again") {
  SmallNet net;
  Expr v(net.graph, net.graph.variable("v", DType::bf16, {kRows, kColumns}));
  Expr normal = net.normal(v);
  Expr product = net.product(normal);
  net.graph.assign(v, cast(v * 0.0, DType::bf16));
  net.graph.output("y", sum(normal * product, {0}));
  net.check("y", sums_of_squares());
}

TEST_CASE("what follows from a variable is not made again by the kernel that writes it") {
  Graph graph;
  Expr x(graph, graph.input("x", DType::f32, {kRows, kColumns}));
  Expr a(graph, graph.variable("a", DType::f32, {kRows, kColumns}));
  Expr b(graph, graph.variable("b", DType::f32, {kRows, kColumns}));
  const Value gate = apply("mul", Expr(graph, graph.scalar("gate")), x.constant(2));
  const Expr next = b * 0.5 + x * 0.25;
  graph.assign(a, a * 0.5 + b * 0.25, gate);
  graph.assign(b, next, gate);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 1, .also = LowerPass::remake});
  Tensor data(DType::f32, {kRows, kColumns});
  for (int64_t i = 0; i < data.elements(); ++i)
    data.set(i, 100), variables.at("a").set(i, 1), variables.at("b").set(i, 2);
  program->bind("x", data.data());
  program->set_scalar("gate", 1);
  program->run(0);
  for (int64_t i = 0; i < data.elements(); ++i)
    REQUIRE((variables.at("a").at(i) == 1 && variables.at("b").at(i) == 26));
}

// Where it is written and where it is read need not be told apart then.
TEST_CASE("kernels that write variables neither make values again nor leave it to others") {
  const bool maker = GENERATE(true, false);
  SmallNet net;
  Expr normal = net.normal(net.x);
  Expr product = net.product(normal);
  Expr v(net.graph, net.graph.variable("v", DType::f32, maker ? Shape{1, kColumns} : Shape{kRows, kColumns}));
  net.graph.assign(v, maker ? mean(cast(net.x, DType::f32), {0}) : normal * product);
  if (maker) net.graph.output("y", sum(normal * product, {0}));
  CHECK(wide_stores(net.graph) == (maker ? 1 : 2));  // of the reader also v
}

TEST_CASE("what another needs on the way is stored once, by the kernel that made it first") {
  SmallNet net;
  Expr wide = cast(net.x, DType::f32);
  Expr centred = wide - mean(wide, {0});
  Expr normal = centred * apply("rsqrt", mean(square(centred), {0}) + 0.01);
  Expr product = net.product(normal);
  net.graph.output("y", sum(normal * product, {0}));
  net.graph.output("squares", Expr(net.graph, matmul(net.graph, centred, centred, true)));
  CHECK(wide_stores(net.graph) == 1);
  net.check("y", sums_of_squares());
}

namespace {

// y and the variable v after each of two steps.
std::vector<double> two_steps(const Graph& graph, const ProgramOptions& options) {
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, options);
  for (int64_t i = 0; i < kColumns; ++i) variables.at("v").set(i, 1 + 0.01 * double(i));
  Tensor x(DType::f64, {kRows, kColumns}), w(DType::f64, {kColumns, kColumns});
  for (int64_t i = 0; i < x.elements(); ++i) x.set(i, std::sin(double(i)) / double(kRows));
  for (int64_t i = 0; i < w.elements(); ++i) w.set(i, std::cos(double(3 * i)));
  program->bind("x", x.data()), program->bind("w", w.data());
  std::vector<double> out;
  for (uint64_t step : {0, 1}) {
    program->run(step);
    for (const Tensor& of : {program->output("y"), variables.at("v")})
      for (int64_t i = 0; i < of.elements(); ++i) out.push_back(of.at(i));
  }
  return out;
}

}  // namespace

TEST_CASE("a value is made again from a variable only before that is written") {
  const bool follows = GENERATE(false, true);  // what makes it again needs the variable's new value
  INFO(follows);
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f64, {kRows, kColumns}));
  const Expr w(graph, graph.input("w", DType::f64, {kColumns, kColumns}));
  const Expr v(graph, graph.variable("v", DType::f64, {1, kColumns}));
  const Expr n = x * v, now = sum(n, {0});
  graph.assign(v, now);
  const Expr y = apply("tanh", Expr(graph, matmul(graph, n, w)) * n);
  graph.output("y", follows ? y * Expr(graph, matmul(graph, now, w)) + x : y + x);
  const std::vector<double> plain = two_steps(graph, {.plain = true});
  const std::vector<double> again = two_steps(graph, {.threads = 1, .also = LowerPass::remake});
  REQUIRE(again.size() == plain.size());
  for (size_t i = 0; i < plain.size(); ++i) REQUIRE(again[i] == Approx(plain[i]).epsilon(1e-12).margin(1e-14));
}

TEST_CASE("of two kernels that make it the first in the graph may need the second") {
  SmallNet net;
  Expr early = -Expr(net.graph, net.graph.input("p", DType::f32, {kRows, kColumns}));
  Expr wide = cast(net.x, DType::f32);
  Expr centred = wide - mean(wide, {0});
  Expr deviation = apply("rsqrt", mean(square(centred), {0}) + 0.01);
  Expr product = net.product(centred * (deviation * 1.0));
  Expr normal = centred * deviation;
  Expr second = normal * product;
  Expr first = normal * net.product(second) + early * early * 0.0;
  net.graph.output("z", sum(first, {0}));
  net.graph.output("y", sum(second, {0}));
  CHECK(wide_stores(net.graph) == 0);
  net.check("y", sums_of_squares());
}
