// Sums over ranks against a loop. The ranks are threads here, each with a place of its own on one board.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/plan.h"
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
