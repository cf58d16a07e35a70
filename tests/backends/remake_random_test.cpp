// Random graphs of rows, columns and products in f64, with variables that are written under guards or without: what is
// made again, or together with other columns, must not be read where it has changed, nor change what others read.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "backends/graph/expression.h"
#include "backends/program.h"

using namespace neon;

namespace {

constexpr int64_t kWidth = 48;

class RandomRows {
 public:
  explicit RandomRows(uint64_t seed) : random_(uint32_t(seed)), rows_(below(2) ? 64 : 5) {
    w_ = input("w", {kWidth, kWidth});
    full_.push_back(input("x", {rows_, kWidth}));
    if (seed & 1) full_.push_back(input("y", {rows_, kWidth}));
    std::vector<Expr> variables;
    for (int i = 0, count = 1 + below(3); i < count; ++i) {
      const bool whole = below(2);
      const Shape shape{whole ? rows_ : 1, kWidth};
      variables.emplace_back(graph, graph.variable(text("v", i), DType::f64, shape));
      (whole ? full_ : row_).push_back(variables.back());
    }
    const Value gate = graph.scalar("gate");
    for (int i = 0, count = 6 + below(18); i < count; ++i) grow();
    const Value guard = below(2) ? gate : Value{};
    for (Expr v : variables) assign(v, guard);
    for (int i = 0, count = 1 + below(3); i < count; ++i) graph.output(text("o", i), pick(below(2) ? full_ : row_));
  }

  Graph graph;

  // All outputs and variables of three steps, of which the second must not count.
  std::vector<double> run(const ProgramOptions& options) {
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, options);
    for (const auto& [name, tensor] : variables.all())
      for (int64_t i = 0; i < tensor.elements(); ++i) variables.at(name).set(i, std::sin(double(i + name[1])));
    std::vector<Tensor> data;
    for (Value leaf : graph.leaves(LeafKind::input)) {
      const std::string& name = graph.producer(leaf).attributes.string("name");
      Tensor& tensor = data.emplace_back(DType::f64, graph.shape(leaf));
      for (int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, name == "w" ? 0.2 * std::sin(double(3 * i)) : std::cos(double(i * (name[0] - 'w'))));
      program->bind(name, tensor.data());
    }
    std::vector<double> out;
    auto take = [&](const Tensor& tensor) {
      for (int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.at(i));
    };
    for (int step : {0, 1, 2}) {
      program->set_scalar("gate", step != 1);
      program->run(uint64_t(step));
      for (const auto& [name, value] : graph.outputs()) take(program->output(name));
      for (const auto& [name, tensor] : variables.all()) take(tensor);
    }
    return out;
  }

 private:
  int below(int n) { return int(random_() % uint32_t(n)); }
  Expr input(const std::string& name, const Shape& shape) { return {graph, graph.input(name, DType::f64, shape)}; }
  // The newest most often.
  Expr pick(const std::vector<Expr>& from) {
    const int count = int(from.size()), a = below(count), b = below(count);
    return from[size_t(count - 1 - std::min(a, b))];
  }
  Expr product(Expr left) { return apply("tanh", Expr(graph, matmul(graph, left, w_))); }

  Expr columns(Expr of, int64_t first, int64_t count) {
    return {graph, graph.add("slice", {of}, {{"axis", int64_t(1)}, {"first", first}, {"count", count}})};
  }
  // Two or three columns of an array, each with something of its own done to it, and put together again.
  Expr parts(Expr of) {
    std::vector<Value> out;
    for (int64_t first = 0; first < kWidth;) {
      const int64_t count = out.size() == 2 ? kWidth - first : std::min<int64_t>(kWidth - first, 8 * (1 + below(4)));
      const Expr part = columns(of, first, count);
      if (below(3) == 0) row_.push_back(apply("tanh", mean(product(of), {0})));
      out.push_back(below(2) ? apply("tanh", part) : part * 0.5 + columns(pick(full_), first, count));
      first += count;
    }
    return {graph, graph.add("concat", out, {{"axis", int64_t(1)}})};
  }

  void grow() {
    if (row_.empty()) return row_.push_back(mean(pick(full_), {0}));
    switch (below(13)) {
      case 0: return full_.push_back(pick(full_) * 0.5);
      case 1: return full_.push_back(-pick(full_));
      case 2: return full_.push_back(pick(full_) - pick(row_));
      case 3: return full_.push_back(pick(full_) * pick(row_));
      case 4: return row_.push_back(below(2) ? mean(pick(full_), {0}) : sum(pick(full_), {0}) * 0.1);
      case 5: return row_.push_back(pick(row_) * 0.5 - pick(row_));
      case 6: return row_.push_back(apply("tanh", pick(row_)));
      case 7: return full_.push_back(product(pick(full_)));
      case 8: return row_.push_back(product(pick(row_)));
      case 9: return full_.push_back(apply("tanh", pick(full_)));
      case 10: return full_.push_back(parts(pick(full_) + pick(full_)));
      case 11: return full_.push_back(parts(pick(full_)));
      default: full_.emplace_back(graph, broadcast_to(graph, pick(row_), {rows_, kWidth}));
    }
  }

  void assign(Expr variable, Value guard) {
    if (below(5) == 0) return;
    Expr to = pick(variable.shape()[0] == rows_ ? full_ : row_);
    if (below(2)) to = variable * 0.5 + to * 0.25;
    graph.assign(variable, to, below(4) ? guard : Value{});
  }

  std::mt19937 random_;
  int64_t rows_;
  Expr w_;
  std::vector<Expr> full_, row_;
};

}  // namespace

TEST_CASE("random graphs with variables are the same when cheap values are made again") {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    RandomRows made(seed);
    const std::vector<double> plain = made.run({.plain = true});
    for (bool columns : {false, true}) {
      INFO((columns ? "columns together" : ""));
      const auto again =
          made.run({.threads = 1,
                    .also = PassSet(LowerPass::remake) | (columns ? PassSet(LowerPass::join) : PassSet()) |
                            (columns ? PassSet(LowerPass::columns) : PassSet())});
      REQUIRE(again.size() == plain.size());
      // Sums of 64 products of numbers below some hundreds.
      for (size_t i = 0; i < plain.size(); ++i)
        if (!(std::abs(again[i] - plain[i]) <= 1e-8 * std::max(1.0, std::abs(plain[i])))) REQUIRE(again[i] == plain[i]);
    }
  }
}
