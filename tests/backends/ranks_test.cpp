// Sums over ranks against a loop. The ranks are threads here, each with a place of its own on one board.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "backends/graph/plan.h"
#include "backends/graph/rank_rows.h"
#include "backends/program.h"
#include "backends/ranks/shared_ranks.h"
#include "neon/core/random.h"
#include "neon/core/tensor.h"

using namespace neon;

namespace {

// Runs work(ranks) as each of so many ranks.
template <typename Work>
void as_ranks(int count, Work&& work) {
  const auto board = std::make_shared<SharedBoard>(count);
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k)
    threads.emplace_back([&, k] {
      SharedRanks ranks(board, k);
      work(ranks);
    });
  for (std::thread& thread : threads) thread.join();
}

Tensor numbers_of(int rank, int64_t elements, DType dtype) {
  Tensor out(dtype, {elements});
  Stream stream(7, "ranks", uint64_t(rank));
  for (int64_t i = 0; i < elements; ++i) out.set(i, 2 * stream.uniform() - 1);
  return out;
}

// The fault of the sum of every rank's numbers; "" where there is none.
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
  std::vector<std::vector<std::string>> texts(3);
  std::vector<std::vector<double>> numbers(3);
  as_ranks(3, [&](Ranks& ranks) {
    const int k = ranks.rank();
    texts[size_t(k)] = ranks.gather_texts(k == 1 ? "" : text("rank ", k, " \xff"));
    const double own[] = {double(k), 0.5};
    numbers[size_t(k)] = ranks.gather(own);
  });
  for (const auto& all : texts) CHECK(all == std::vector<std::string>{"rank 0 \xff", "", "rank 2 \xff"});
  for (const auto& all : numbers) CHECK(all == std::vector<double>{0, 0.5, 1, 0.5, 2, 0.5});
}

TEST_CASE("a rank that waits for one that was lost does not wait on") {
  const auto board = std::make_shared<SharedBoard>(2);
  SharedRanks ranks(board, 0);
  (*board)->lost = 1;
  double number = 1;
  CHECK_THROWS_AS(ranks.sum({&number, 1}), RankLost);
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

namespace {

bool keeps_exchanges(const Graph&, const Node& node, const DeviceKernels&) { return node.op->is(ops::exchange); }

int exchange_of(const Lowered& lowered) {
  const auto found = std::ranges::find_if(lowered.kernels, [](const auto& kernel) { return kernel.is(ops::exchange); });
  return int(found - lowered.kernels.begin());
}

// Products of a chain; the first is summed over ranks, and read once more if that is `read_on`.
Lowered chain(bool read_on, int64_t size = 512) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {size, size}), first = matmul(graph, x, x);
  Value end = matmul(graph, read_on ? first : x, x, true);
  for (int i = 0; i < 4; ++i) end = matmul(graph, end, x);
  const Value sum = exchange(graph, {first})[0];
  graph.output("end", Expr(graph, sum) + Expr(graph, end));
  return lower(graph, {.kernels = {.keeps = keeps_exchanges}});
}

}  // namespace

TEST_CASE("a large exchange begins when its array is there, and is waited for where the sum is read") {
  const Lowered lowered = chain(true);
  INFO(to_string(lowered));
  const int exchange = exchange_of(lowered);
  CHECK(exchange == 1);
  CHECK(join_of(lowered, exchange) == int(lowered.kernels.size()) - 1);
  const Lowered small = chain(true, 16);
  CHECK(exchange_of(small) == int(small.kernels.size()) - 2);
}

TEST_CASE("a sum over ranks lies where the array lay that nobody else reads") {
  const Lowered lowered = chain(false);
  const LoweredKernel& exchange = lowered.kernels[size_t(exchange_of(lowered))];
  CHECK(lowered.storage[size_t(exchange.outputs[0].id)] == lowered.storage[size_t(exchange.inputs[0].id)]);
}

TEST_CASE("the arrays of an exchange lie one behind the other") {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {5, 5});
  std::vector<Value> parts;
  for (int64_t n : {1, 3, 200, 2}) parts.push_back(matmul(graph, graph.input(text("w", n), DType::f32, {n, 5}), x));
  const std::vector<Value> sums = exchange(graph, parts);
  for (size_t i = 0; i < sums.size(); ++i) graph.output(text("sum", i), Expr(graph, sums[i]) * 2);
  const Lowered lowered = lower(graph, {.kernels = {.keeps = keeps_exchanges}});
  INFO(to_string(lowered));
  const LoweredKernel& exchange = lowered.kernels[size_t(exchange_of(lowered))];
  for (size_t i = 1; i < exchange.inputs.size(); ++i) {
    const auto place = [&](Value value) { return lowered.buffers[size_t(lowered.storage[size_t(value.id)].id)]; };
    const Buffer before = place(exchange.inputs[i - 1]), after = place(exchange.inputs[i]);
    CHECK(lies_behind(lowered, exchange.inputs[i - 1], exchange.inputs[i]));
    CHECK(after.offset == (before.offset + before.bytes + 255) / 256 * 256);
  }
}

TEST_CASE("no kernel writes where an exchange still reads") {
  const Lowered lowered = chain(true);
  INFO(to_string(lowered));
  const auto place = [&](Value value) { return lowered.buffers[size_t(lowered.storage[size_t(value.id)].id)]; };
  const int exchange = exchange_of(lowered), join = join_of(lowered, exchange);
  const Buffer read = place(lowered.kernels[size_t(exchange)].inputs[0]);
  int written = 0;
  for (int k = exchange + 1; k < join; ++k)
    for (Value value : lowered.kernels[size_t(k)].outputs) {
      const Buffer other = place(value);
      CHECK((other.offset + other.bytes <= read.offset || read.offset + read.bytes <= other.offset));
      ++written;
    }
  CHECK(written == 5);
}

TEST_CASE("ranks whose exchanges differ hear of it") {
  std::vector<std::string> faults(2);
  as_ranks(2, [&](Ranks& ranks) {
    Graph graph;
    const Value x = graph.input("x", DType::f32, {ranks.rank() + 1});
    graph.output("sum", exchange(graph, {x})[0]);
    Variables variables;
    try {
      compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    } catch (const Error& error) {
      faults[size_t(ranks.rank())] = error.what();
    }
  });
  for (const std::string& fault : faults) CHECK(fault.starts_with("rank 1 exchanges other arrays than rank 0"));
}

TEST_CASE("shares of a batch cover it once, and keep their places where they must") {
  for (int64_t places = 1; places < 14; ++places)
    for (int64_t whole = 1; whole <= places; ++whole)
      for (int ranks = 1; ranks < 6; ++ranks)
        for (const bool keeps : {false, true}) {
          INFO(whole << " of " << places << " samples on " << ranks << " ranks");
          int64_t next = 0;
          double weight = 0;
          for (int k = 0; k < ranks; ++k) {
            const BatchShare share = share_of(whole, keeps ? places : whole, {k, ranks});
            weight += share.weight();
            CHECK((share.count >= 1 && share.first >= 0 && share.first + share.count <= whole));
            CHECK(share.count <= (places + ranks - 1) / ranks);
            if (!share.counts) continue;
            CHECK(share.first == next);
            if (keeps) CHECK(share.first == places * k / ranks);
            next = share.first + share.count;
          }
          CHECK(next == whole);
          CHECK(std::fabs(weight - 1) < 1e-14);
        }
}

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

TEST_CASE("alone, a program has zeros for the rows of others") {
  for (const bool plain : {false, true}) {
    Graph graph;
    const RankRows rows{{1, 2}, 1};
    const Value x = graph.input("x", DType::f64, {2, 2});
    graph.output("gathered", all_gather(graph, x, rows));
    graph.output("moved", rows_to_columns(graph, columns_to_rows(graph, all_gather(graph, x, rows), rows), rows));
    graph.output("scattered", reduce_scatter(graph, all_gather(graph, x, rows), rows));
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.threads = 1, .plain = plain});
    const double given[] = {1, 2, 3, 4};
    program->bind("x", given);
    program->run(0);
    for (const char* name : {"gathered", "moved"}) {
      const Tensor y = program->output(name);
      for (int64_t i = 0; i < 6; ++i) CHECK(y.at(i) == (i < 2 ? 0 : given[i - 2]));
    }
    const Tensor own = program->output("scattered");
    for (int64_t i = 0; i < 4; ++i) CHECK(own.at(i) == given[i]);
  }
}
