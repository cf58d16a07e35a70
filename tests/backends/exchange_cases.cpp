// Each exchange between ranks against a loop.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/program.h"
#include "backends/ranks/shared_ranks.h"
#include "neon/core/random.h"
#include "neon/core/tensor.h"
#include "rank_team.h"

using namespace neon;
using namespace neon_test;

namespace {

Tensor numbers_of(int rank, int64_t elements, DType dtype) {
  Tensor out(dtype, {elements});
  Stream stream(7, "ranks", uint64_t(rank));
  for (int64_t i = 0; i < elements; ++i) out.set(i, 2 * stream.uniform() - 1);
  return out;
}

// The first element at which the sum of every rank's numbers is wrong; "": none.
std::string fault_of_sum(const Tensor& got, int ranks) {
  const int64_t n = got.elements();
  std::vector<Tensor> all;
  for (int k = 0; k < ranks; ++k) all.push_back(numbers_of(k, n, got.dtype()));
  for (int64_t i = 0; i < n; ++i) {
    double total = 0;
    for (const Tensor& each : all) total = got.dtype() == DType::f64 ? total + each.at(i) : float(total + each.at(i));
    Tensor rounded(got.dtype(), {1});
    rounded.set(0, total);
    if (got.at(i) != rounded.at(0)) return text("element ", i, " is ", got.at(i), ", not ", rounded.at(0));
  }
  return "";
}

}  // namespace

TEST_CASE("sums over ranks are those of a loop in the order of ranks") {
  const int64_t area = int64_t(SharedBoard::area_bytes());
  for (const int count : {1, 2, 3, 4})
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      const std::vector<int64_t> sizes = {1, 0, 17, area / 8 - 5, area / 2 + 3};
      std::vector<std::string> faults(static_cast<size_t>(count));
      as_ranks(count, [&](Ranks& ranks) {
        std::vector<Tensor> from, to;
        std::vector<Summand> arrays;
        for (const int64_t n : sizes)
          from.push_back(numbers_of(ranks.rank(), n, dtype)), to.emplace_back(dtype, Shape{n});
        for (size_t i = 0; i < sizes.size(); ++i) arrays.push_back({from[i].data(), to[i].data(), sizes[i]});
        ranks.sum(arrays, dtype);
        for (size_t i = 0; i < sizes.size(); ++i) faults[size_t(ranks.rank())] += fault_of_sum(to[i], count);
        arrays = {{from[2].data(), from[2].data(), 17}};
        ranks.sum(arrays, dtype);  // in place
        faults[size_t(ranks.rank())] += fault_of_sum(from[2], count);
      });
      INFO(count << " ranks in " << name_of(dtype));
      for (const std::string& fault : faults) CHECK(fault == "");
    }
}

TEST_CASE("ranks gather numbers and texts in their order") {
  std::vector<std::string> faults(3);
  as_ranks(3, [&](Ranks& ranks) {
    const int k = ranks.rank();
    const std::vector<std::string> texts = ranks.gather_texts(k == 1 ? "" : text("rank ", k, " \xff"));
    const double own[] = {double(k), 0.5};
    const std::vector<double> numbers = ranks.gather(own);
    if (texts != std::vector<std::string>{"rank 0 \xff", "", "rank 2 \xff"}) faults[size_t(k)] = "texts";
    if (numbers != std::vector<double>{0, 0.5, 1, 0.5, 2, 0.5}) faults[size_t(k)] += " numbers";
  });
  for (const std::string& fault : faults) CHECK(fault == "");
}

TEST_CASE("a program sums what its graph exchanges, and so do gradients") {
  std::vector<std::string> faults(3);
  as_ranks(3, [&](Ranks& ranks) {
    Graph graph;
    const Expr x(graph, graph.input("x", DType::f64, {2})), y(graph, graph.input("y", DType::f64, {}));
    const std::vector<Value> sums = exchange(graph, {square(x), y});
    const Expr part = sum(Expr(graph, sums[0]), {0}) * y;  // each rank adds its own y
    graph.output("sum", sums[0]);
    const Value wanted[] = {x};
    graph.output("gradient", gradients(graph, part, wanted)[0]);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    const double k = ranks.rank() + 1;
    const double given[] = {k, -2 * k}, own[] = {k};
    program->bind("x", given);
    program->bind("y", own);
    program->run(0);
    // sum over ranks of x^2: 1 + 4 + 9; the gradient is 2 x times the sum of all y.
    const Tensor total = program->output("sum"), gradient = program->output("gradient");
    const bool right = total.at(0) == 14 && total.at(1) == 56 && gradient.at(0) == 12 * k && gradient.at(1) == -24 * k;
    faults[size_t(ranks.rank())] = right ? "" : text(total.at(0), " ", total.at(1), " ", gradient.at(0));
  });
  for (const std::string& fault : faults) CHECK(fault == "");
}

TEST_CASE("ranks whose exchanges differ hear of it") {
  std::vector<std::string> faults(2);
  as_ranks(2, [&](Ranks& ranks) {
    std::string& fault = faults[size_t(ranks.rank())] = "none";
    Graph graph;
    const Value x = graph.input("x", DType::f32, {ranks.rank() + 1});
    graph.output("sum", exchange(graph, {x})[0]);
    Variables variables;
    try {
      compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    } catch (const Error& error) {
      fault = error.what();
    }
    if (fault.starts_with("rank 1 exchanges other arrays than rank 0")) fault = "";
  });
  for (const std::string& fault : faults) CHECK(fault == "");
}
