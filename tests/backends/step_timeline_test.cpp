// Timelines of steps on several devices, against sums by hand.
#include "backends/ranks/step_timeline.h"

#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/rank_rows.h"
#include "backends/program.h"
#include "backends/ranks/simulated_ranks.h"
#include "neon/core/tensor.h"

using namespace neon;

namespace {

// Five kernels: a product, its sum over ranks, another product, its sum over ranks, a kernel that reads the first sum.
struct TwoExchanges {
  Graph graph;
  std::unique_ptr<Program> program;
  Variables variables;
  SimulatedRanks ranks{2};
  std::vector<double> seconds;  // by kernel, 1 each
  std::vector<size_t> exchanges;

  explicit TwoExchanges(int64_t rows) {
    const Expr x(graph, graph.input("x", DType::f64, {rows, 4})), w(graph, graph.input("w", DType::f64, {4, 8}));
    const Expr v(graph, graph.input("v", DType::f64, {8, 2}));
    const Expr first(graph, matmul(graph, x, w));
    const Expr second(graph, matmul(graph, first, v));
    const Expr sum_of_first(graph, exchange(graph, {first})[0]), sum_of_second(graph, exchange(graph, {second})[0]);
    graph.output("a", exp(sum_of_first));
    graph.output("b", sum_of_second);
    program = compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    const Lowered& lowered = program->lowered();
    for (size_t k = 0; k < lowered.kernels.size(); ++k)
      if (lowered.kernels[k].is(ops::exchange)) exchanges.push_back(k);
    seconds.assign(lowered.kernels.size(), 1);
  }
};

}  // namespace

TEST_CASE("an exchange takes its latency and the bytes of a ring, twice where there are hosts") {
  const Links links{.bandwidth = 100, .latency = 3, .host_devices = 4, .network_bandwidth = 10, .network_latency = 0.5};
  CHECK(exchange_seconds(1000, 1, links) == 0);
  CHECK(exchange_seconds(1000, 2, links) == Approx(3 + 2 * 0.5 * 10));
  CHECK(exchange_seconds(1000, 4, links) == Approx(3 + 2 * 0.75 * 10));
  // 2 hosts: each of 4 devices sends a quarter, once there and once back; 1 round of 2 messages.
  CHECK(exchange_seconds(1000, 8, links) == Approx(3 + 15 + 2 * 0.5 + 2 * 0.5 * 25));
  CHECK(exchange_seconds(1000, 32, links) == Approx(3 + 15 + 2 * 3 * 0.5 + 2 * 0.875 * 25));
  // A device a host: the network alone.
  CHECK(exchange_seconds(1000, 2, {.host_devices = 1, .network_bandwidth = 10, .network_latency = 0.5}) ==
        Approx(2 * 0.5 + 100));
}

TEST_CASE("rows of one device are sent by it alone, those of all by each the others'") {
  const Links links{.bandwidth = 100, .latency = 3, .host_devices = 4, .network_bandwidth = 10, .network_latency = 0.5};
  CHECK(exchange_seconds(1000, 4, links, true) == Approx(3 + 0.75 * 10));
  CHECK(exchange_seconds(1000, 4, links, true, true) == Approx(3 + 10));
  for (const bool one : {false, true}) {
    Graph graph;
    const RankRows rows = one ? RankRows{{5, 0}, 0} : RankRows{{3, 2}, 0};
    graph.output("y", all_gather(graph, graph.input("x", DType::f64, {rows.own(), 100}), rows));
    Variables variables;
    SimulatedRanks ranks{2};
    const auto program = compile_for_cpu(graph, variables, {.threads = 1, .ranks = &ranks});
    const std::vector<double> nothing(program->lowered().kernels.size());
    const StepTimeline timeline = simulate_step(program->lowered(), nothing, 2, {.bandwidth = 100, .latency = 3});
    REQUIRE(timeline.exchanges.size() == 1);
    CHECK(timeline.exchanges[0].bytes == 5 * 100 * 8);
    CHECK(timeline.seconds == Approx(3 + (one ? 40 : 20)));
  }
}

TEST_CASE("kernels go on beside an exchange up to the first that needs it") {
  TwoExchanges step(100);
  REQUIRE(step.exchanges.size() == 2);
  const Lowered& lowered = step.program->lowered();
  const size_t kernels = lowered.kernels.size();
  for (const size_t k : step.exchanges) step.seconds[k] = 1e9;  // does not count
  // 100 x 8 and 100 x 2 numbers of 8 bytes.
  const Links links{.bandwidth = 640, .latency = 0, .slowdown = 1};
  const StepTimeline timeline = simulate_step(lowered, step.seconds, 2, links);
  REQUIRE(timeline.exchanges.size() == 2);
  const bool wide_first = timeline.exchanges[0].bytes == 6400;
  CHECK(timeline.exchanges[wide_first ? 0 : 1].bytes == 6400);
  CHECK(timeline.exchanges[wide_first ? 1 : 0].bytes == 1600);
  CHECK(timeline.exchanged() == Approx(12.5));
  CHECK(timeline.exchanges[1].begin >= timeline.exchanges[0].end);  // one behind the other
  // Kernels take kernels - 2 seconds in all, and what they wait for comes on top.
  CHECK(timeline.seconds == Approx(double(kernels - 2) + timeline.waited()));
  CHECK(timeline.waited() > 0);
  // Links so fast that nothing waits.
  CHECK(simulate_step(lowered, step.seconds, 2, {.bandwidth = 1e30, .latency = 0, .slowdown = 1}).seconds ==
        Approx(double(kernels - 2)));
}

TEST_CASE("kernels beside an exchange take longer, and those behind it do not") {
  TwoExchanges step(20000);  // an exchange of 1 MiB or more begins before the second product
  const size_t first = step.exchanges[0], second = step.exchanges[1];
  REQUIRE(second == first + 2);
  std::vector<double> seconds(step.seconds.size(), 0);
  seconds[first + 1] = 10;
  // 20000 x 8 numbers of 8 bytes, in 4 seconds: beside them the product does 4 / slowdown of its 10.
  const auto second_begins = [&](double slowdown) {
    const Links links{.bandwidth = 320000, .latency = 0, .slowdown = slowdown};
    return simulate_step(step.program->lowered(), seconds, 2, links).exchanges[1].begin;
  };
  CHECK(second_begins(1) == Approx(10));
  CHECK(second_begins(2) == Approx(4 + (10 - 4 / 2)));
  seconds[first + 1] = 1;  // ends before the exchange: the next begins behind that
  CHECK(second_begins(2) == Approx(4));
}

TEST_CASE("simulated ranks compute their own part, and find all others alike") {
  SimulatedRanks ranks(3);
  const double own[] = {2, 5};
  CHECK(ranks.gather(own) == std::vector<double>{2, 5, 2, 5, 2, 5});
  CHECK(ranks.gather_texts("a") == std::vector<std::string>{"a", "a", "a"});
  double from[] = {1, 2}, to[] = {0, 0};
  const Summand array{from, to, 2};
  ranks.sum(std::span(&array, 1), DType::f64);
  CHECK((to[0] == 1 && to[1] == 2));
}
