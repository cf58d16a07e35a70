// Looking samples up inside the step: batches of one, numbers without axes, weights of samples.
#include <catch2/catch.hpp>

#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

// data[i][j] = 10 i + j
Tensor rows(int64_t n, int64_t width, DType dtype) {
  Tensor out(dtype, width ? Shape{n, width} : Shape{n});
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, double(width ? i / width * 10 + i % width : i * 10));
  return out;
}

}  // namespace

TEST_CASE("samples are looked up anew in each step, also in batches of one") {
  const int64_t batch = GENERATE(1, 2, 3), width = GENERATE(0, 1, 3);
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name << ", batch " << batch << ", width " << width);
    const Tensor data = rows(5, width, arithmetic.dtype), weights = rows(5, 1, arithmetic.dtype);
    Graph graph;
    const Value indices = graph.input("indices", DType::i32, {batch});
    Expr x(graph, gather(graph, graph.input("data", arithmetic.dtype, data.shape()), indices));
    Expr w(graph, gather(graph, graph.input("weights", arithmetic.dtype, weights.shape()), indices));
    graph.output("tripled", x * 3.0);
    graph.output("sums", width ? sum(reshape(x, {batch, width}) * w, {1}) : x + 1.0);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, arithmetic.options);
    std::vector<int32_t> samples(static_cast<size_t>(batch));
    program->bind("indices", samples.data());
    program->bind("data", data.data());
    program->bind("weights", weights.data());
    for (int32_t step = 0; step < 4; ++step) {
      for (int32_t i = 0; i < batch; ++i) samples[size_t(i)] = (step + 2 * i) % 5;
      program->run(uint64_t(step));
      const Tensor tripled = program->output("tripled"), sums = program->output("sums");
      for (int64_t i = 0; i < batch; ++i) {
        const double sample = samples[size_t(i)];
        double expected = width ? 0 : 10 * sample + 1;
        for (int64_t j = 0; j < width; ++j) expected += (10 * sample + double(j)) * 10 * sample;
        CHECK(sums.at(i) == expected);
        for (int64_t j = 0; j < width; ++j) CHECK(tripled.at(i * width + j) == 3 * (10 * sample + double(j)));
        if (!width) CHECK(tripled.at(i) == 30 * sample);
      }
    }
  }
}

TEST_CASE("a sample that is not there is an error with its number") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    if (arithmetic.options.plain) continue;
    const Tensor data = rows(5, 3, arithmetic.dtype);
    Graph graph;
    Expr x(graph,
           gather(graph, graph.input("data", arithmetic.dtype, data.shape()), graph.input("indices", DType::i32, {1})));
    graph.output("x", x * 2.0);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, arithmetic.options);
    const int32_t sample = 5;
    program->bind("indices", &sample);
    program->bind("data", data.data());
    CHECK_THROWS_WITH(program->run(1), Catch::Contains("index 5 at place 0 is not in [0, 5)"));
  }
}
