// The places of exchanges in a program, and shares of a batch. The ranks of exchange_cases.cpp are threads here, each
// with a place of its own on one board.
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
#include "rank_team.h"

using namespace neon;

void neon_test::as_ranks(int count, const std::function<void(Ranks&)>& work) {
  const auto board = std::make_shared<SharedBoard>(count);
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k)
    threads.emplace_back([&, k] {
      SharedRanks ranks(board, k);
      work(ranks);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("a rank that waits for one that was lost does not wait on") {
  const auto board = std::make_shared<SharedBoard>(2);
  SharedRanks ranks(board, 0);
  (*board)->lost = 1;
  double number = 1;
  CHECK_THROWS_AS(ranks.sum({&number, 1}), RankLost);
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

TEST_CASE("a kernel that runs once, before the others, waits for no exchange") {
  Graph graph;
  const Value x = graph.input("x", DType::bf16, {512, 512}), w = graph.variable("w", DType::f32, {512, 512});
  const Value sum = exchange(graph, {w})[0];
  graph.output("y", matmul(graph, x, cast(graph, w, DType::bf16)));
  graph.output("sum", Expr(graph, sum) * 2);
  graph.assign(w, Expr(graph, w) * 0.5);
  const Lowered lowered = lower(graph, {.kernels = {.keeps = keeps_exchanges}});
  INFO(to_string(lowered));
  const int exchange = exchange_of(lowered), join = join_of(lowered, exchange);
  REQUIRE(lowered.kernels[size_t(exchange) + 1].is_once());
  REQUIRE(join < int(lowered.kernels.size()));
  CHECK(!lowered.kernels[size_t(join)].is_once());
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

TEST_CASE("the most samples of a rank are those of its largest share of a batch of any size") {
  for (int64_t batch = 1; batch < 20; ++batch)
    for (int ranks = 1; ranks < 6; ++ranks)
      for (const int64_t together : {1, 2}) {
        INFO(batch << " samples on " << ranks << " ranks, " << together << " together");
        int64_t most = 0;
        for (int64_t whole = 1; whole <= batch; ++whole)
          for (int k = 0; k < ranks; ++k) most = std::max(most, share_of(whole, whole, {k, ranks, together}).count);
        CHECK(most_of_ranks(batch, {0, ranks, together}) == most);
      }
  CHECK(most_of_ranks(10, {0, 2, 2}) == 6);  // 4 and 6
  CHECK(most_of_ranks(12, {0, 3, 2}) == 5);  // of 11: 2, 4 and 5
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
