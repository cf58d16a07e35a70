// Rows that move between ranks against a loop.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rank_rows.h"
#include "backends/program.h"
#include "neon/core/tensor.h"
#include "rank_team.h"

using namespace neon;
using namespace neon_test;

namespace {

// Element (row, column) that rank k has of an array of so many columns.
double element_of(int k, int64_t row, int64_t column) { return double((k * 31 + row * 7 + column * 3) % 101) / 8 - 5; }

// The results of each rank's program for the op that `make` adds to an input of `rows(rank)` rows of n numbers.
template <typename Make, typename Expected>
void check_rows(int count, const std::vector<int64_t>& rows, int64_t n, DType dtype, bool all_rows, Make&& make,
                Expected&& expected) {
  std::vector<std::string> faults(static_cast<size_t>(count));
  as_ranks(count, [&](Ranks& ranks) {
    const int k = ranks.rank();
    const RankRows of{rows, k};
    Graph graph;
    const int64_t own = all_rows ? of.all() : of.own();
    graph.output("y", make(graph, graph.input("x", dtype, {own, n}), of));
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    Tensor x(dtype, {own, n});
    for (int64_t i = 0; i < own * n; ++i) x.set(i, element_of(k, i / n, i % n));
    program->bind("x", x.data());
    for (int run = 0; run < 2; ++run) program->run(uint64_t(run));
    const Tensor y = program->output("y");
    for (int64_t i = 0; i < y.elements() && faults[size_t(k)].empty(); ++i)
      if (y.at(i) != expected(of, i)) faults[size_t(k)] = text("element ", i, ": ", y.at(i), ", not ", expected(of, i));
  });
  INFO(count << " ranks in " << name_of(dtype) << ", " << n << " columns");
  for (const std::string& fault : faults) CHECK(fault == "");
}

// The rank whose row that is of all, and its row there.
std::pair<int, int64_t> place_of(const RankRows& rows, int64_t row) {
  int k = 0;
  while (row >= rows.rows[size_t(k)]) row -= rows.rows[size_t(k++)];
  return {k, row};
}

}  // namespace

TEST_CASE("rows that move between ranks are those of a loop, also where they fill the shared memory many times") {
  const std::vector<std::vector<int64_t>> shares = {{3}, {2, 2}, {3, 2}, {1, 4, 2}, {2, 2, 2, 1}};
  for (const std::vector<int64_t>& rows : shares)
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
      for (const int64_t n : {int64_t(1), int64_t(5), int64_t(60000)}) {
        const int count = int(rows.size());
        check_rows(
            count, rows, n, dtype, false, [](Graph& g, Value x, const RankRows& r) { return all_gather(g, x, r); },
            [&](const RankRows& of, int64_t i) {
              const auto [k, row] = place_of(of, i / n);
              return element_of(k, row, i % n);
            });
        check_rows(
            count, rows, n, dtype, true, [](Graph& g, Value x, const RankRows& r) { return reduce_scatter(g, x, r); },
            [&](const RankRows& of, int64_t i) {
              double sum = 0;  // eighths below 50, which bf16 would round on the way
              for (int k = 0; k < count; ++k) sum += element_of(k, of.first(of.rank) + i / n, i % n);
              Tensor rounded(dtype, {1});
              rounded.set(0, sum);
              return rounded.at(0);
            });
        check_rows(
            count, rows, n, dtype, true, [](Graph& g, Value x, const RankRows& r) { return columns_to_rows(g, x, r); },
            [&](const RankRows& of, int64_t i) {
              const int64_t part = i / (of.own() * n), row = i / n % of.own();
              return element_of(int(part), of.first(of.rank) + row, i % n);
            });
        // There and back is the array as it was.
        check_rows(
            count, rows, n, dtype, true,
            [](Graph& g, Value x, const RankRows& r) { return rows_to_columns(g, columns_to_rows(g, x, r), r); },
            [&](const RankRows& of, int64_t i) { return element_of(of.rank, i / n, i % n); });
      }
}

TEST_CASE("several arrays move in one exchange, each with rows of its own") {
  const std::vector<RankRows> all{{{2, 1, 3}, 0}, {{1, 1, 1}, 0}, {{0, 4, 1}, 0}};
  constexpr int64_t kColumns = 3;
  std::vector<std::string> faults(3);
  as_ranks(3, [&](Ranks& ranks) {
    const int k = ranks.rank();
    std::vector<RankRows> rows = all;
    Graph graph;
    std::vector<Value> own, whole;
    for (size_t a = 0; a < rows.size(); ++a) {
      rows[a].rank = k;
      own.push_back(graph.input(text("own", a), DType::f64, {rows[a].own(), kColumns}));
      whole.push_back(graph.input(text("whole", a), DType::f64, {rows[a].all(), kColumns}));
    }
    const std::vector<Value> gathered = all_gather(graph, own, rows), added = reduce_scatter(graph, whole, rows);
    for (size_t a = 0; a < rows.size(); ++a)
      graph.output(text("gathered", a), gathered[a]), graph.output(text("added", a), added[a]);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    std::vector<Tensor> given;
    for (size_t a = 0; a < rows.size(); ++a)
      for (const bool of_all : {false, true}) {
        const int64_t count = of_all ? rows[a].all() : rows[a].own();
        Tensor& x = given.emplace_back(DType::f64, Shape{count, kColumns});
        for (int64_t i = 0; i < x.elements(); ++i) x.set(i, element_of(k, i / kColumns + int64_t(a), i % kColumns));
        program->bind(text(of_all ? "whole" : "own", a), x.data());
      }
    program->run(0);
    const auto check = [&](const std::string& name, int64_t i, double wanted) {
      if (program->output(name).at(i) != wanted) faults[size_t(k)] += text(name, " ", i, " ");
    };
    for (size_t a = 0; a < rows.size(); ++a) {
      for (int64_t i = 0; i < rows[a].all() * kColumns; ++i) {
        const auto [from, row] = place_of(rows[a], i / kColumns);
        check(text("gathered", a), i, element_of(from, row + int64_t(a), i % kColumns));
      }
      for (int64_t i = 0; i < rows[a].own() * kColumns; ++i) {
        double sum = 0;
        for (int from = 0; from < 3; ++from)
          sum += element_of(from, rows[a].first(k) + i / kColumns + int64_t(a), i % kColumns);
        check(text("added", a), i, sum);
      }
    }
  });
  for (const std::string& fault : faults) CHECK(fault == "");
}

TEST_CASE("rows of stored weights are gathered together, up to some bytes, and others where they are made") {
  Graph graph;
  const RankRows large{{int64_t(1) << 18, int64_t(1) << 18}, 1}, small{{1, 2}, 1};
  const auto stored = [&](const char* name, const RankRows& rows) {
    return graph.variable(name, DType::f32, {rows.own(), 3});
  };
  const Value a = all_gather(graph, stored("a", small), small), b = all_gather(graph, stored("b", large), large),
              c = all_gather(graph, stored("c", small), small), d = all_gather(graph, stored("d", large), large);
  const Value made = all_gather(graph, Expr(graph, stored("e", small)) * 2, small);
  const Value half = all_gather(graph, cast(graph, stored("a", small), DType::f16), small);
  const std::vector<std::pair<std::string, Value>> results = {{"a", a}, {"b", b},       {"c", c},
                                                              {"d", d}, {"made", made}, {"half", half}};
  for (const auto& [name, value] : results) graph.output(name, value);
  const Graph together = with_gathers_together(graph);
  std::vector<std::vector<std::string>> found;
  for (int n = 0; n < together.node_count(); ++n) {
    const Node& node = together.node(n);
    if (!node.op->is(ops::all_gather)) continue;
    found.emplace_back();
    for (const Value output : node.outputs)
      for (const auto& [name, value] : together.outputs())
        if (value == output) found.back().push_back(name);
  }
  std::ranges::sort(found);
  // 6 MiB each are the large ones; 8 MiB together have no room for two.
  CHECK(found == std::vector<std::vector<std::string>>{{"a", "b", "c"}, {"d"}, {"half"}, {"made"}});
}

TEST_CASE("gradients of moved rows are those of the sum of all ranks' numbers") {
  // Each rank has c = sum(w_r * f(x)) with weights of its own; the gradient by its x sums over all ranks.
  const RankRows sample{{2, 1}, 0};
  std::vector<std::string> faults(2);
  as_ranks(2, [&](Ranks& ranks) {
    const int k = ranks.rank();
    const RankRows of{sample.rows, k};
    Graph graph;
    const Expr x(graph, graph.input("x", DType::f64, {of.own(), 2}));
    const Expr gathered(graph, all_gather(graph, x, of));
    const Expr parts(graph, columns_to_rows(graph, gathered, of));             // (2, own, 2)
    const Expr scattered(graph, reduce_scatter(graph, square(gathered), of));  // 2 x^2 of own rows
    const Expr cost = sum(parts, {0, 1, 2}) * double(k + 1) + sum(scattered, {0, 1});
    const Value wanted[] = {x};
    graph.output("gradient", gradients(graph, cost, wanted)[0]);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    std::vector<double> given;
    for (int64_t i = 0; i < 2 * of.own(); ++i) given.push_back(double(i + 1 + 10 * k));
    program->bind("x", given.data());
    program->run(0);
    // Of all ranks' costs: row r of rank p lies in both gathered arrays, and both ranks' parts of it go to rank p,
    // where they count p + 1 times each; each rank's square of it is summed to rank p: 2 * 2 x.
    const Tensor gradient = program->output("gradient");
    for (int64_t i = 0; i < gradient.elements(); ++i)
      if (gradient.at(i) != 2.0 * (k + 1) + 4 * given[size_t(i)])
        faults[size_t(k)] = text(i, ": ", gradient.at(i), ", not ", 2.0 * (k + 1) + 4 * given[size_t(i)]);
  });
  for (const std::string& fault : faults) CHECK(fault == "");
}
