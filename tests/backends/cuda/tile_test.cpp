// Convolutions in tiles, on the GPU, against the plain kernels in f64.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"
#include "tests/backends/cuda/own_cache.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/cuda/tile_cases.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

CaseRun run_timed(const OpCase& c, DType dtype) {
  DeviceOptions options{.gpu = true, .timed = true};
  options.program.fuse = false;  // the node as it is
  return run_case(c, dtype, dtype, options);
}

// Whole numbers, few of them other than 0, so that sums are exact in bf16.
void fill_sparsely(Tensor& to, int64_t every, int64_t most) {
  for (int64_t i = 0; i < to.elements(); ++i)
    to.set(i, (i * 13 + i / 7) % every == 0 ? double(i * 5 % (2 * most + 1) - most) : 0);
}

}  // namespace

TEST_CASE("convolutions in tiles and their gradients, on the GPU", "[parts]") {
  std::vector<OpCase> cases = tile_cases();
  for (OpCase& c : pairs_cases()) cases.push_back(std::move(c));
  for (const OpCase& c : part_of(cases))
    for (const DType dtype : {DType::f16, DType::bf16}) {
      INFO(c.to_string() << " in " << std::string(name_of(dtype)));
      const OwnCache cache;
      const CaseRun chosen = run_timed(c, dtype);
      CHECK(difference_to_plain(c, dtype, chosen, false, 2) == "");
      REQUIRE(cache.choices().size() == 1);  // the clock's
      set_value(cache.choices()[0], "tiles");
      const CaseRun tiles = run_timed(c, dtype);
      CHECK(tiles.implementations.back() == "tiles");
      CHECK(difference_to_plain(c, dtype, tiles, false, 2) == "");
    }
}

TEST_CASE("convolutions in tiles add biases and take relu, which keeps NaN, also without the clock, on the GPU") {
  const Shape image{8, 56, 56, 16}, filters{120, 5, 5, 16};
  const Windows windows{{5, 5}, {1, 1}, {2, 2}, {2, 2}, {1, 1}};
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const bool with_relu : {false, true}) {
      INFO(std::string(name_of(dtype)) << (with_relu ? " with relu" : ""));
      Graph graph;
      const Value x = graph.input("x", dtype, image), w = graph.input("w", dtype, filters);
      const Expr sums =
          Expr(graph, convolution(graph, x, w, windows, 1)) + Expr(graph, graph.variable("bias", dtype, {120}));
      graph.output("y", with_relu ? apply("relu", sums) : sums);
      Variables on_plain, on_gpu;
      const auto plain = compile_for_cpu(graph, on_plain, {.plain = true});
      const auto gpu = compile_program(graph, on_gpu, {.gpu = true});
      CHECK(gpu->implementations() == std::vector<std::string>{"tiles"});
      for (Variables* variables : {&on_plain, &on_gpu}) fill_sparsely(variables->at("bias"), 2, 3);
      on_gpu.to_device();
      Tensor images(dtype, image), weights(dtype, filters);
      fill_sparsely(images, 8, 1), fill_sparsely(weights, 3, 3);
      for (Program* program : {plain.get(), gpu.get()}) {
        program->bind("x", images.data()), program->bind("w", weights.data());
        program->run(0);
      }
      CHECK(difference(gpu->output("y"), plain->output("y")) == "");
      const auto at = [](int64_t n, int64_t row, int64_t column) { return ((n * 56 + row) * 56 + column); };
      images.set(at(3, 10, 20) * 16, std::numeric_limits<double>::quiet_NaN());
      gpu->bind("x", images.data());
      gpu->run(1);
      const Tensor y = gpu->output("y");
      int64_t broken = 0;
      for (int64_t i = 0; i < y.elements(); ++i) broken += std::isnan(y.at(i));
      CHECK(broken == 25 * 120);  // the windows that see it
      CHECK(std::isnan(y.at(at(3, 8, 22) * 120 + 119)));
    }
}

TEST_CASE("convolutions whose halos are unlike share a kernel's code, on the GPU") {
  const Shape image{64, 32, 32, 32};
  const std::vector<std::pair<const char*, int64_t>> filters{{"large", 5}, {"small", 3}};
  Graph graph;
  const Value x = graph.input("x", DType::f16, image);
  for (const auto& [name, side] : filters) {
    const Windows windows{{side, side}, {1, 1}, {side / 2, side / 2}, {side / 2, side / 2}, {1, 1}};
    const Value w = graph.input(text("w of ", name), DType::f16, {32, side, side, 32});
    graph.output(name, convolution(graph, x, w, windows, 1));
  }
  const OwnCache cache;
  Variables on_plain, on_gpu;
  const auto plain = compile_for_cpu(graph, on_plain, {.plain = true});
  const DeviceOptions timed{.gpu = true, .timed = true};
  compile_program(graph, on_gpu, timed);
  for (const auto& choice : cache.choices()) set_value(choice, "tiles");
  const auto gpu = compile_program(graph, on_gpu, timed);
  CHECK(std::ranges::count(gpu->implementations(), "tiles") == 2);
  Tensor images(DType::f16, image);
  fill_sparsely(images, 8, 1);
  std::map<std::string, Tensor> weights;
  for (const auto& [name, side] : filters)
    fill_sparsely(weights.emplace(text("w of ", name), Tensor(DType::f16, {32, side, side, 32})).first->second, 3, 3);
  for (Program* program : {plain.get(), gpu.get()}) {
    program->bind("x", images.data());
    for (auto& [name, tensor] : weights) program->bind(name, tensor.data());
    program->run(0);
  }
  for (const auto& [name, side] : filters) CHECK(difference(gpu->output(name), plain->output(name)) == "");
}
