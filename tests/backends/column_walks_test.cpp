// Batch norm, a rectifier and both gradients over many rows, which the CPU makes by walks over columns: the same as
// loops in double.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "backends/cpu/fused_plan.h"
#include "backends/graph/expression.h"
#include "backends/graph/lower.h"
#include "backends/graph/ops.h"
#include "backends/program.h"

using namespace neon;

namespace {

constexpr int64_t kWalkedRows = 2600;
constexpr double kWalkedEpsilon = 1e-3, kWalkedOffset = 0.25;

double walked_g(int64_t i) { return std::cos(double(i * 104729 % 10009)); }

// "none", "relu", "relu_clip" to [0, 1]; with an addend before it or not.
struct WalkedNet {
  std::string row;
  int64_t columns;
  bool joined = false;
  double mean = 100;
  DType dtype = DType::f32;

  int64_t count() const { return kWalkedRows * columns; }
  double rounded(double value) const { return dtype == DType::f32 ? double(float(value)) : value; }
  double x(int64_t i) const { return rounded(mean + std::sin(double(i * 7919 % 10007)) * 1.4); }
  double g(int64_t i) const { return rounded(walked_g(i)); }
  double addend(int64_t i) const { return joined ? rounded(walked_g(i + 5)) : 0; }
  double rectified(double a) const {
    return row == "none" ? a : row == "relu" ? std::max(a, 0.0) : std::clamp(a, 0.0, 1.0);
  }
  double slope(double a) const { return row == "none" || (a > 0 && (row == "relu" || a < 1)) ? 1 : 0; }
};

struct WalkedColumns {
  std::vector<double> y, dx;
};

WalkedColumns columns_by_loops(const WalkedNet& net) {
  WalkedColumns out{std::vector<double>(size_t(net.count())), std::vector<double>(size_t(net.count()))};
  for (int64_t c = 0; c < net.columns; ++c) {
    double mean = 0, variance = 0, sum = 0, products = 0;
    const auto each = [&](auto&& visit) {
      for (int64_t i = c; i < net.count(); i += net.columns) visit(i);
    };
    each([&](int64_t i) { mean += net.x(i) / kWalkedRows; });
    each([&](int64_t i) { variance += (net.x(i) - mean) * (net.x(i) - mean) / kWalkedRows; });
    const double scale = 1 / std::sqrt(variance + kWalkedEpsilon);
    const auto before = [&](int64_t i) { return (net.x(i) - mean) * scale + kWalkedOffset + net.addend(i); };
    const auto g = [&](int64_t i) { return net.g(i) * net.slope(before(i)); };
    each([&](int64_t i) { sum += g(i), products += g(i) * (net.x(i) - mean) * scale; });
    each([&](int64_t i) {
      const double near = (net.x(i) - mean) * scale;
      out.y[size_t(i)] = net.rectified(before(i));
      out.dx[size_t(i)] = scale * (g(i) - (sum + near * products) / kWalkedRows);
    });
  }
  return out;
}

struct WalkedGraph {
  // As in a net, a product before it and one behind it make the gradient a kernel of its own, which reads x again.
  explicit WalkedGraph(const WalkedNet& net, bool products = false) {
    const auto variable = [&](const char* name) {
      return Expr(graph, graph.variable(name, net.dtype, {kWalkedRows, net.columns}));
    };
    const Expr given = variable("x"), g = variable("g"), x = products ? multiplied(given) : given;
    const auto number = [&](double value) {
      return broadcast_to(graph, graph.constant(value, net.dtype), {1, net.columns});
    };
    Expr a(graph, graph.add_all("batch_norm", {x, number(1), number(kWalkedOffset)},
                                {{"axes", std::vector<int64_t>{0}}, {"epsilon", kWalkedEpsilon}})[0]);
    if (net.joined) a = a + variable("addend");
    const Expr y = net.row == "none"   ? a
                   : net.row == "relu" ? apply("relu", a)
                                       : apply("relu_clip", a, a.constant(0), a.constant(1));
    const Value wanted[] = {x};
    if (!products) graph.output("y", y);
    const Expr next = products ? multiplied(y) : y;
    graph.output("dx", gradients(graph, sum(next * (products ? next : g), all_axes(y.shape())), wanted)[0]);
  }
  Graph graph;

 private:
  Expr multiplied(Expr x) {
    const int64_t n = x.shape()[1];
    return {graph, matmul(graph, x, graph.variable(text("w", graph.node_count()), x.dtype(), {n, n}))};
  }
};

// The largest difference from loops in double, where the rectifier has a derivative.
double worst_difference(const WalkedNet& net) {
  WalkedGraph made(net);
  Variables variables;
  const auto program = compile_for_cpu(made.graph, variables, {.threads = 1});
  for (int64_t i = 0; i < net.count(); ++i) {
    variables.at("x").set(i, net.x(i)), variables.at("g").set(i, net.g(i));
    if (net.joined) variables.at("addend").set(i, net.addend(i));
  }
  program->run(0);
  const WalkedColumns expected = columns_by_loops(net);
  double worst = 0;
  for (int64_t i = 0; i < net.count(); ++i) {
    const double y = expected.y[size_t(i)];
    if (net.row != "none" && (std::abs(y) < 1e-3 || std::abs(y - 1) < 1e-3)) continue;
    const double by_y = std::abs(program->output("y").at(i) - y),
                 by_x = std::abs(program->output("dx").at(i) - expected.dx[size_t(i)]);
    worst = std::isnan(by_y) || std::isnan(by_x) ? INFINITY : std::max({worst, by_y, by_x});
  }
  return worst;
}

// Calls visit(plan) for each part of a net's kernels.
template <typename Visit>
void each_plan(const WalkedNet& net, Visit&& visit) {
  WalkedGraph made(net, true);
  const Lowered lowered = lower(made.graph, {.passes = kCpuPasses});
  cpu::Context context(lowered, 1);
  for (const LoweredKernel& kernel : lowered.kernels)
    if (kernel.fused)
      for (const Segment& segment : kernel.fused->segments) visit(cpu::plan_segment<float>(segment, context));
}

// How often each walk is taken in the passes of a net's kernels.
std::map<elementwise::Columns<float>::Walk, int> walks(const WalkedNet& net) {
  std::map<elementwise::Columns<float>::Walk, int> out;
  each_plan(net, [&](const auto& plan) {
    for (const auto& bodies : plan.bodies)
      for (const auto& body : bodies) ++out[body.walk];
  });
  return out;
}

// The columns of a tile of tall columns.
std::set<int64_t> columns_of_tiles(const WalkedNet& net) {
  std::set<int64_t> out;
  each_plan(net, [&](const auto& plan) {
    if (plan.tall) out.insert(plan.tile_columns);
  });
  return out;
}

}  // namespace

TEST_CASE("batch norm by walks over columns is that of loops in double") {
  for (const std::string row : {"none", "relu", "relu_clip"})
    for (int64_t columns : {1, 3, 7, 17, 96, 600})
      for (bool joined : {false, true}) {
        INFO(row << " of " << columns << " columns, with an addend: " << joined);
        CHECK(worst_difference({row, columns, joined}) < 2e-4);
      }
}

TEST_CASE("batch norm of more columns than a tile takes whole is that of loops in double") {
  CHECK(worst_difference({"relu", 1300, true}) < 2e-4);
  CHECK(worst_difference({"relu", 1300, true, 100, DType::f64}) < 1e-9);
}

TEST_CASE("tiles of tall columns take whole rows where no copy is needed then") {
  for (int64_t columns : {96, 512, 513, 960, 1280}) CHECK(columns_of_tiles({"relu", columns}) == std::set{columns});
  CHECK(columns_of_tiles({"relu", 1281}) == std::set<int64_t>{256});
  WalkedNet converted{"relu", 513};
  converted.dtype = DType::bf16;
  CHECK(columns_of_tiles(converted) == std::set<int64_t>{256});
}

TEST_CASE("walks over columns lose no variance at a large mean, and keep to f64") {
  CHECK(worst_difference({"relu", 17, false, 1e4}) < 2e-3);  // x itself is rounded to 5e-4, y is within 1e-3 / 1 of it
  CHECK(worst_difference({"relu_clip", 17, true, 1e4, DType::f64}) < 1e-9);
}

TEST_CASE("batch norm's sums, its result and its gradient are walked, whatever the rectifier") {
  const elementwise::Columns<float>& all = *elementwise::active_level().columns_f32;
  for (const auto& [row, at] : {std::pair{"none", 0}, {"relu", 1}, {"relu_clip", 2}}) {
    INFO(row);
    const auto taken = walks({row, 96});
    CHECK(taken.contains(all.square_sums));
    CHECK(taken.contains(all.scaled[at]));
    CHECK(taken.contains(all.product_sums));
    CHECK(taken.contains(all.gradient));
    if (at > 0) CHECK(taken.contains(all.gated[at - 1]));
    CHECK(walks({row, 96, true}).contains(all.joined[at]));
  }
}

TEST_CASE("a NaN among the inputs stays in its column") {
  const WalkedNet net{"relu", 17};
  WalkedGraph made(net);
  Variables variables;
  const auto program = compile_for_cpu(made.graph, variables, {.threads = 1});
  for (int64_t i = 0; i < net.count(); ++i) variables.at("x").set(i, net.x(i)), variables.at("g").set(i, net.g(i));
  variables.at("x").set(5 * net.columns + 2, NAN);
  program->run(0);
  const WalkedColumns expected = columns_by_loops(net);
  for (int64_t i = 0; i < net.count(); ++i)
    if (i % net.columns == 2) REQUIRE(std::isnan(program->output("dx").at(i)));
    else REQUIRE(std::abs(program->output("dx").at(i) - expected.dx[size_t(i)]) < 2e-4);
}

namespace {

struct NormedColumn {
  double mean = 0, scale = 0, products = 0;
};

// The largest difference from loops in double of the gradients by x and z of a rectifier's argument that is the sum of
// two batch norms: both need the sum of the same gradient.
double worst_of_two_norms(const WalkedNet& net) {
  Graph graph;
  const auto variable = [&](const char* name) {
    return Expr(graph, graph.variable(name, net.dtype, {kWalkedRows, net.columns}));
  };
  const Expr arrays[] = {variable("x"), variable("z")}, g = variable("g");
  const auto normed = [&](Expr x) {
    const auto number = [&](double value) {
      return broadcast_to(graph, graph.constant(value, net.dtype), {1, net.columns});
    };
    return Expr(graph, graph.add_all("batch_norm", {x, number(1), number(kWalkedOffset)},
                                     {{"axes", std::vector<int64_t>{0}}, {"epsilon", kWalkedEpsilon}})[0]);
  };
  const Expr y = apply("relu", normed(arrays[0]) + normed(arrays[1]));
  const Value wanted[] = {arrays[0], arrays[1]};
  const std::vector<Value> made = gradients(graph, sum(y * g, all_axes(y.shape())), wanted);
  const std::string names[] = {"x", "z"};
  for (int a : {0, 1}) graph.output("d" + names[a], made[size_t(a)]);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 1});
  const auto value = [&](int a, int64_t i) { return a == 0 ? net.x(i) : net.rounded(3 * walked_g(i + 5) - 2); };
  for (int64_t i = 0; i < net.count(); ++i) {
    variables.at("g").set(i, net.g(i));
    for (int a : {0, 1}) variables.at(names[a]).set(i, value(a, i));
  }
  program->run(0);
  double worst = 0;
  for (int64_t c = 0; c < net.columns; ++c) {
    const auto each = [&](auto&& visit) {
      for (int64_t i = c; i < net.count(); i += net.columns) visit(i);
    };
    NormedColumn norms[2];
    for (int a : {0, 1}) {
      double variance = 0;
      each([&](int64_t i) { norms[a].mean += value(a, i) / kWalkedRows; });
      each([&](int64_t i) { variance += std::pow(value(a, i) - norms[a].mean, 2) / kWalkedRows; });
      norms[a].scale = 1 / std::sqrt(variance + kWalkedEpsilon);
    }
    const auto near = [&](int a, int64_t i) { return (value(a, i) - norms[a].mean) * norms[a].scale; };
    const auto before = [&](int64_t i) { return near(0, i) + near(1, i) + 2 * kWalkedOffset; };
    const auto gradient = [&](int64_t i) { return before(i) > 0 ? net.g(i) : 0; };
    double sum = 0;
    each([&](int64_t i) { sum += gradient(i); });
    for (int a : {0, 1}) {
      each([&](int64_t i) { norms[a].products += gradient(i) * near(a, i); });
      each([&](int64_t i) {
        const double expected = norms[a].scale * (gradient(i) - (sum + near(a, i) * norms[a].products) / kWalkedRows);
        if (std::abs(before(i)) < 1e-3) return;
        const double off = std::abs(program->output("d" + names[a]).at(i) - expected);
        worst = std::isnan(off) ? INFINITY : std::max(worst, off);
      });
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("two batch norms before one rectifier, which share a sum, have their gradients") {
  for (int64_t columns : {3, 17, 96}) {
    INFO(columns << " columns");
    CHECK(worst_of_two_norms({"relu", columns}) < 1e-4);
    CHECK(worst_of_two_norms({"relu", columns, false, 100, DType::f64}) < 1e-9);
  }
}
