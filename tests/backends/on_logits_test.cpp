// Costs with logarithms of softmax and logistic functions, far from where those can be told from 0 and 1: values and
// gradients by the formulas of the logits, in double.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "backends/device/device.h"
#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"

using namespace neon;

namespace {

bool keep_all(const Graph&, const Node&, const DeviceKernels&) { return true; }

// Up to 900 and more apart: e^-900 is 0 in every type.
double logit(int64_t i) { return double((i * 37) % 19) * 100 - 900; }
double target(int64_t i) { return double((i * 13) % 7) / 6; }

struct Formula {
  explicit Formula(Shape shape, DType dtype = DType::f64)
      : x(graph, graph.input("x", dtype, shape)), t(graph, graph.input("t", compute_type(dtype), shape)) {}
  Graph graph;
  Expr x, t;
  Expr softmax(Expr a) { return {graph, graph.add(ops::softmax, {a})}; }
  Expr transposed(Expr a, std::vector<int64_t> axes) { return {graph, transpose(graph, a, std::move(axes))}; }

  // Of the cost on logits: the ops that it is made of, then values.
  std::set<std::string> finish(Expr cost) {
    const Expr stable(graph, on_logits(graph, cost));
    const Value wanted[] = {x};
    graph.output("cost", stable);
    graph.output("dx", gradients(graph, stable, wanted)[0]);
    std::set<std::string> names;
    const Graph live = expand(graph, {.keeps = keep_all});
    for (int i = 0; i < live.node_count(); ++i) names.insert(std::string(live.node(i).op->name));
    return names;
  }
  void run() {
    program_ = compile_for_cpu(graph, variables_, {.threads = 1});
    Tensor xs(graph.dtype(x), x.shape()), ts(graph.dtype(t), t.shape());
    for (int64_t i = 0; i < xs.elements(); ++i) xs.set(i, logit(i)), ts.set(i, target(i));
    program_->bind("x", xs.data()), program_->bind("t", ts.data());
    program_->run(0);
  }
  double output(const char* name, int64_t i) const { return program_->output(name).at(i); }

 private:
  Variables variables_;
  std::unique_ptr<Program> program_;
};

Expr log_of(Expr p) { return apply("safelog", p); }

// By the definition: sum of t (log sum e^x - x) over the groups of elements of x, and its derivative.
struct Expected {
  std::vector<double> costs, dx;
};
// group_of(i) of element i; elements of one group exclude each other.
Expected expected(int64_t elements, int64_t groups, auto group_of) {
  Expected out{std::vector<double>(size_t(groups), 0), std::vector<double>(size_t(elements), 0)};
  std::vector<double> largest(size_t(groups), -1e300), exponentials(size_t(groups), 0), targets(size_t(groups), 0);
  for (int64_t i = 0; i < elements; ++i) {
    double& most = largest[size_t(group_of(i))];
    most = std::max(most, logit(i));
  }
  for (int64_t i = 0; i < elements; ++i) {
    const size_t g = size_t(group_of(i));
    exponentials[g] += std::exp(logit(i) - largest[g]);
    targets[g] += target(i);
  }
  for (int64_t i = 0; i < elements; ++i) {
    const size_t g = size_t(group_of(i));
    const double log_p = logit(i) - largest[g] - std::log(exponentials[g]);
    out.costs[g] -= target(i) * log_p;
    out.dx[size_t(i)] = std::exp(log_p) * targets[g] - target(i);
  }
  return out;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-10 * (1 + std::abs(b)); }

void check_gradient(const Formula& f, const Expected& e) {
  for (size_t i = 0; i < e.dx.size(); ++i) CHECK(close(f.output("dx", int64_t(i)), e.dx[i]));
}

void check_total(const Formula& f, const Expected& e) {
  double total = 0;
  for (double cost : e.costs) total += cost;
  CHECK(close(f.output("cost", 0), total));
  check_gradient(f, e);
}

Expr total(Expr x) { return reshape(sum(x, all_axes(x.shape())), {1}); }

bool holds(const std::set<std::string>& names, const char* name) { return names.count(name) > 0; }

}  // namespace

TEST_CASE("the cross-entropy of a softmax is that of its logits, whichever axes lie before the classes") {
  for (const Shape& shape : {Shape{6, 5}, Shape{2, 3, 5}, Shape{2, 1, 3, 5}, Shape{1, 5}, Shape{30}}) {
    INFO(shape.to_string());
    Formula f(shape);
    const int64_t classes = shape.back();
    const auto names = f.finish(total(-sum(f.t * log_of(f.softmax(f.x)), {shape.rank() - 1})));
    CHECK(holds(names, "softmax_cross_entropy"));
    CHECK(!holds(names, "softmax"));
    CHECK(!holds(names, "safelog"));
    f.run();
    check_total(f, expected(shape.elements(), shape.elements() / classes, [&](int64_t i) { return i / classes; }));
  }
}

TEST_CASE("a sum over steps and classes at once has a cross-entropy for each step") {
  for (const bool flat : {false, true}) {
    Formula f({4, 3, 5});  // samples, steps, classes
    Expr p = f.softmax(f.x), t = f.t;
    if (flat) p = reshape(p, {4, 15}), t = reshape(t, {4, 15});
    const Expr each = -sum(log_of(p) * t, flat ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2});
    const auto names = f.finish(total(reshape(each, {4, 1}) * 3.0));
    CHECK(holds(names, "softmax_cross_entropy"));
    CHECK(!holds(names, "neg"));
    f.run();
    Expected e = expected(60, 12, [](int64_t i) { return i / 5; });
    for (double& cost : e.costs) cost *= 3;
    for (double& slope : e.dx) slope *= 3;
    check_total(f, e);
  }
}

TEST_CASE("classes that were moved away from the last axis keep their logarithms exact") {
  // Classes of pixels (N,H,W,C), compared in the order (N,C,H,W).
  Formula f({2, 3, 4, 5});
  const Expr p = f.transposed(f.softmax(f.x), {0, 3, 1, 2}), t = f.transposed(f.t, {0, 3, 1, 2});
  const auto names = f.finish(total(-sum(reshape(t, {2, 60}) * log_of(reshape(p, {2, 60})), {1})));
  CHECK(holds(names, "log_softmax"));
  CHECK(!holds(names, "softmax_cross_entropy"));  // a row of 60 numbers is not one distribution
  CHECK(!holds(names, "safelog"));
  f.run();
  check_total(f, expected(120, 24, [](int64_t i) { return i / 5; }));
}

TEST_CASE("a softmax over all numbers of maps is found behind a transpose of the maps") {
  Formula f({2, 12});
  const Expr maps = f.transposed(reshape(f.softmax(f.x), {2, 2, 2, 3}), {0, 3, 1, 2});
  const Expr t = reshape(f.transposed(reshape(f.t, {2, 2, 2, 3}), {0, 3, 1, 2}), {2, 12});
  const auto names = f.finish(total(-sum(t * log_of(reshape(maps, {2, 12})), {1})));
  CHECK(holds(names, "softmax_cross_entropy"));
  f.run();
  check_total(f, expected(24, 2, [](int64_t i) { return i / 12; }));
}

TEST_CASE("smoothed targets, one number for all classes too, meet logits") {
  Formula f({6, 5});
  const auto names = f.finish(total(-sum((f.t * 0.9 + 0.02) * log_of(f.softmax(f.x)), {1})));
  CHECK(holds(names, "softmax_cross_entropy"));
  f.run();
  const Expected e = expected(30, 6, [](int64_t i) { return i / 5; });
  double sum_of_costs = 0;
  for (int64_t r = 0; r < 6; ++r) {
    double most = -1e300, total_of = 0;
    for (int64_t i = 0; i < 5; ++i) most = std::max(most, logit(r * 5 + i));
    for (int64_t i = 0; i < 5; ++i) total_of += std::exp(logit(r * 5 + i) - most);
    for (int64_t i = 0; i < 5; ++i)
      sum_of_costs += (0.9 * target(r * 5 + i) + 0.02) * (most + std::log(total_of) - logit(r * 5 + i));
  }
  CHECK(close(f.output("cost", 0), sum_of_costs));
  CHECK(e.costs.size() == 6);
}

TEST_CASE("the binary cross-entropy of a logistic function is that of its logits, moved or not") {
  for (const bool moved : {false, true}) {
    Formula f({3, 2, 2, 4});
    Expr p = apply("logistic", f.x), t = f.t;
    if (moved) p = f.transposed(p, {0, 3, 1, 2}), t = f.transposed(t, {0, 3, 1, 2});
    const auto names = f.finish(total(sum(-t * log_of(p) - (1.0 - t) * log_of(1.0 - p), {1, 2, 3})));
    CHECK(holds(names, "bce_logits"));
    CHECK(!holds(names, "safelog"));
    f.run();
    double cost = 0;
    for (int64_t i = 0; i < 48; ++i) {
      const double x = logit(i), y = 1 / (1 + std::exp(-x));
      cost += std::max(x, 0.0) - x * target(i) + std::log1p(std::exp(-std::abs(x)));
      CHECK(close(f.output("dx", i), y - target(i)));
    }
    CHECK(close(f.output("cost", 0), cost));
  }
}

TEST_CASE("outputs of 16 bits are widened before the function that ends a net, for whatever cost") {
  for (const OpName op : {ops::softmax, ops::logistic}) {
    Formula f({6, 5}, DType::f16);
    const Expr y(f.graph, f.graph.add(op, {f.x}));
    f.finish(total(square(cast(y, DType::f32) - f.t)));
    const Graph live = expand(f.graph, {.keeps = keep_all});
    for (int i = 0; i < live.node_count(); ++i)
      if (live.node(i).op->is(op)) CHECK(live.dtype(live.node(i).outputs[0]) == DType::f32);
  }
}

TEST_CASE("what is no logarithm of a softmax or of one logistic function stays as it is written") {
  Formula f({6, 5});
  const Expr p = f.softmax(f.x), q = apply("logistic", f.x), t = f.t;
  const auto unchanged = [&](Expr cost) { CHECK(on_logits(f.graph, cost) == cost.value()); };
  unchanged(total(-sum(t * log_of(p * t), {1})));                                     // masked
  unchanged(total(square(p - t)));                                                    // no logarithm
  unchanged(total(-t * log_of(q) - (1.0 - t) * log_of(1.0 - apply("logistic", t))));  // of two functions
  unchanged(total(-t * log_of(q) - (2.0 - t) * log_of(1.0 - q)));
  unchanged(total(-t * log_of(q) - (1.0 - f.x) * log_of(1.0 - q)));
  // A product ends the formula of a cost: what lies before it is the net's.
  const Expr hidden(f.graph, matmul(f.graph, log_of(p), t, false, true));
  unchanged(total(hidden));
}

TEST_CASE("a sum over some of the classes, or across them, has no cross-entropy of its own") {
  Formula f({4, 3, 6});
  const Expr p = f.softmax(f.x);
  const Expr parts = reshape(log_of(p), {4, 3, 2, 3}), t = reshape(f.t, {4, 3, 2, 3});
  const auto some = f.finish(total(square(-sum(t * parts, {3}))));
  CHECK(!holds(some, "softmax_cross_entropy"));
  CHECK(holds(some, "log_softmax"));
  Formula g({4, 6});
  const auto across = g.finish(total(square(-sum(g.t * log_of(g.softmax(g.x)), {0}))));
  CHECK(!holds(across, "softmax_cross_entropy"));
  CHECK(holds(across, "log_softmax"));
}
