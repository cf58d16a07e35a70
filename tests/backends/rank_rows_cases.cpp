// Rows that move between ranks against a loop.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
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
