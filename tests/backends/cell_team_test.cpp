// Threads that share recurrent cells: each sample and unit once, and the same bits for every team.
#include "backends/cpu/cell_team.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/program.h"
#include "tests/backends/cell_graph.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

std::map<std::string, Tensor> cell_results(const CellGraphCase& c, DType dtype, int threads) {
  const Graph graph = cell_graph(c, dtype);
  Variables none;
  const auto program = compile_for_cpu(graph, none, {.threads = threads, .plain = threads == 0});
  const auto data = cell_data(c, graph);
  for (const auto& [name, tensor] : data) program->bind(name, tensor.data());
  for (int run = 0; run < 3; ++run) program->run(uint64_t(run));
  std::map<std::string, Tensor> out;
  for (const auto& [name, value] : graph.outputs()) out[name] = program->output(name).clone();
  return out;
}

const std::vector<CellGraphCase>& shared_cells() {
  // With few samples threads share units; of 100 units the last share has four.
  static const std::vector<CellGraphCase> cells = {
      {"lstm", "lstm", 2, 30, 100, false, true, true},
      {"lstm, backwards", "lstm", 3, 20, 97, true, false, false},
      {"gru", "gru", 2, 40, 100, false, true},
      {"gru, backwards", "gru", 3, 40, 70, true, true},
      {"simple", "recurrent", 2, 90, 100, false, true},
      {"logistic", "recurrent", 1, 70, 130, true, false, false, "logistic"},
      {"many samples", "lstm", 70, 5, 33, false, true},
      {"more samples than are multiplied at once", "lstm", 300, 3, 64}};
  return cells;
}

}  // namespace

TEST_CASE("shares have each sample and unit once, and those who meet have the same samples") {
  for (const cpu::CellWork work : {cpu::CellWork{128, 512, 32, 4 << 20},
                                   {128, 128, 32, 1 << 18},
                                   {1, 512, 32, 4 << 20},
                                   {3, 33, 32, 1 << 20},
                                   {0, 40, 32, 1 << 12},
                                   {7, 1, 32, 16},
                                   {64, 700, 32, 8 << 20}})
    for (const int team : {1, 2, 3, 4, 6, 7, 16}) {
      INFO(work.samples << " samples, " << work.units << " units, " << team << " threads");
      const cpu::CellShares shares(work, team);
      REQUIRE(shares.count() == team);
      std::map<std::pair<int64_t, int64_t>, int> times;
      std::map<const cpu::Meeting*, std::pair<int64_t, int64_t>> samples_of;
      for (int i = 0; i < team; ++i) {
        const cpu::CellShare& share = shares[i];
        CHECK(share.first_unit % work.panel == 0);
        CHECK((share.others != nullptr) == (share.units < work.units));
        const std::pair samples{share.first_sample, share.last_sample};
        if (share.others) CHECK(samples_of.emplace(share.others, samples).first->second == samples);
        for (int64_t n = share.first_sample; n < share.last_sample; ++n)
          for (int64_t u = 0; u < share.units; ++u) ++times[{n, share.first_unit + u}];
      }
      CHECK(int64_t(times.size()) == work.samples * work.units);
      CHECK(std::ranges::all_of(times, [](const auto& entry) { return entry.second == 1; }));
    }
}

TEST_CASE("large weights are shared, and small ones are read by every thread") {
  CHECK(!cpu::CellShares({128, 128, 32, 1 << 18}, 16)[0].others);
  CHECK(cpu::CellShares({128, 512, 32, 4 << 20}, 16)[0].units == 128);
  CHECK(!cpu::CellShares({128, 512, 32, 4 << 20}, 2)[0].others);
  CHECK(cpu::CellShares({1, 512, 32, 4 << 20}, 2)[0].units == 256);
}

TEST_CASE("recurrent cells have the same bits with any number of threads, those of the definition") {
  for (const CellGraphCase& c : shared_cells()) {
    const auto exact = cell_results(c, DType::f64, 0);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const auto one = cell_results(c, dtype, 1);
      for (const auto& [name, y] : one) {
        INFO(c.name << " in " << text(dtype) << ": " << name);
        CHECK(difference_over_largest(y, exact.at(name)) < (dtype == DType::bf16 ? 8 : 64) * unit_roundoff(dtype));
      }
      for (const int threads : {2, 4})
        for (const auto& [name, y] : cell_results(c, dtype, threads)) {
          if (name == "dw") continue;  // a product of oneDNN's
          INFO(c.name << " in " << text(dtype) << " by " << threads << " threads: " << name);
          CHECK(same_bits(y, one.at(name)));
        }
    }
  }
}

TEST_CASE("NaN in a gate's argument, whatever its bits, is NaN in the state, of its sample alone") {
  for (const auto& [cell, gates] : {std::pair{"lstm", 4}, std::pair{"gru", 3}, std::pair{"recurrent", 1}})
    for (int gate = 0; gate < gates; ++gate)
      for (const uint32_t bits : {0x7fc00000u, 0x7fc00001u, 0xffc00155u, 0x7fffffffu}) {
        INFO(cell << ", gate " << gate << ", bits " << std::hex << bits);
        const CellGraphCase c{"nan", cell, 3, 2, 33};
        const Graph graph = cell_graph(c, DType::f32);
        Variables none;
        const auto program = compile_for_cpu(graph, none, {.threads = 1});
        auto data = cell_data(c, graph);
        data.at("z").as<float>()[size_t((1 * c.steps * gates + gate) * c.units + 5)] = std::bit_cast<float>(bits);
        for (const auto& [name, tensor] : data) program->bind(name, tensor.data());
        program->run(0);
        const Tensor h = program->output("h");
        const auto is_nan = [&](int64_t sample) { return std::isnan(h.at(sample * c.steps * c.units + 5)); };
        CHECK(is_nan(1));
        CHECK((!is_nan(0) && !is_nan(2)));
      }
}
