// What neither device may decide by itself: stochastic rounding and histograms have the bits of the CPU, for numbers of
// all sizes and those at the edges: every 16-bit number, NaN, infinities, zeros, what lies exactly between two bins,
// neighbours, or integers.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numbers>

#include "backends/graph/expression.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

// Every bit pattern of a 16-bit type.
Tensor every_number(DType dtype) {
  Tensor out(dtype, {65536});
  for (int i = 0; i < 65536; ++i) static_cast<uint16_t*>(out.data())[i] = uint16_t(i);
  return out;
}

// Of either sign and all exponents: a power of 2 and its neighbours, what is half-way to the next for each number of
// kept bits, and for logarithms. Then zeros, infinities and NaN.
Tensor edges(DType dtype) {
  std::vector<double> values = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, -NAN};
  for (int exponent = -149; exponent <= 128; ++exponent)
    for (double sign : {1.0, -1.0}) {
      const double power = sign * std::ldexp(1, exponent);
      for (int bits = 0; bits <= 23; ++bits) values.push_back(power + power * std::ldexp(1, -bits - 1));
      for (double size : {power, power * std::numbers::sqrt2}) {
        const auto nearest = float(size);
        for (float next : {-HUGE_VALF, HUGE_VALF}) values.push_back(std::nextafter(nearest, next));
        values.push_back(nearest), values.push_back(size);
      }
    }
  Tensor out(dtype, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out.set(int64_t(i), values[i]);
  return out;
}

// Arrays of a type with those, and normal ones of all sizes.
std::vector<Tensor> numbers_of(DType dtype) {
  Tensor sizes(dtype, {300, 1000});
  Stream stream(3, "sizes");
  for (int64_t i = 0; i < sizes.elements(); ++i)
    sizes.set(i, stream.normal() * std::exp2(140 * stream.uniform() - 130));
  std::vector<Tensor> out = {sizes, edges(dtype)};
  if (size_of(dtype) == 2) out.push_back(every_number(dtype));
  return out;
}

using Build = std::function<Value(Graph&, Value)>;

Tensor result(const Build& build, const Tensor& x, bool gpu) {
  Graph graph;
  graph.output("y", build(graph, graph.input("x", x.dtype(), x.shape())));
  Variables variables;
  const auto program = compile_program(graph, variables, {.gpu = gpu});
  program->bind("x", x.data());
  program->run(5);
  return program->output("y").clone();
}

// The first element that differs, where a NaN is as good as another; "" if there is none.
std::string first_difference(const Tensor& cpu, const Tensor& gpu, const Tensor& x) {
  const size_t bytes = size_of(cpu.dtype());
  const auto *a = static_cast<const std::byte*>(cpu.data()), *b = static_cast<const std::byte*>(gpu.data());
  for (int64_t i = 0; i < cpu.elements(); ++i) {
    const bool same = std::equal(a + size_t(i) * bytes, a + size_t(i + 1) * bytes, b + size_t(i) * bytes);
    if (same || (std::isnan(cpu.at(i)) && std::isnan(gpu.at(i)))) continue;
    return text(i, ": of ", i < x.elements() ? x.at(i) : NAN, " the CPU makes ", cpu.at(i), ", the GPU ", gpu.at(i));
  }
  return "";
}

}  // namespace

TEST_CASE("stochastic rounding has the same bits as on the CPU") {
  for (DType from : kTypes)
    for (const Tensor& x : numbers_of(from))
      for (DType to : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::i32})
        for (int bits : {1, std::max(1, most_kept_bits(to) / 2), std::max(1, most_kept_bits(to))}) {
          INFO(x.shape().to_string() << " " << std::string(name_of(from)) << " to " << bits << " bits of "
                                     << std::string(name_of(to)));
          const auto build = [&](Graph& graph, Value input) {
            return round_stochastic(Expr(graph, input), to, bits, 7, "draws").value();
          };
          CHECK(first_difference(result(build, x, false), result(build, x, true), x) == "");
        }
}

TEST_CASE("histograms have the counts of the CPU, at the edges of their bins too") {
  for (DType dtype : kTypes)
    for (const Tensor& x : numbers_of(dtype))
      for (const auto& [bins, offset] : {std::pair(64, -48), {279, -150}, {3, 0}, {1, -5}}) {
        INFO(x.shape().to_string() << " " << std::string(name_of(dtype)) << ", " << bins << " bins from " << offset);
        const auto build = [&](Graph& graph, Value input) { return histogram(graph, input, bins, offset); };
        const Tensor expected = result(build, x, false);
        double sum = 0;
        for (int64_t bin = 0; bin < bins; ++bin) sum += expected.at(bin);
        CHECK(sum > 0);
        CHECK(first_difference(expected, result(build, x, true), expected) == "");
      }
}

TEST_CASE("a large histogram is that of the CPU, run after run") {
  Tensor x(DType::f32, {3000001});
  Stream stream(4, "sizes");
  for (float& v : x.as<float>()) v = float(stream.normal());
  // Those of people, and those of a training step, which tell every size.
  const bool every_size = GENERATE(false, true);
  const int64_t bins = every_size ? 279 : 64, offset = every_size ? -150 : -48;
  Tensor expected;
  for (bool gpu : {false, true}) {
    Graph graph;
    const Value input = graph.input("x", x.dtype(), x.shape());
    graph.output("counts", histogram(graph, input, bins, offset, graph.scalar("watched")));
    Variables variables;
    const auto program = compile_program(graph, variables, {.gpu = gpu});
    program->bind("x", x.data());
    for (int watched : {1, 0, 1}) {
      program->set_scalar("watched", watched);
      program->run(0);
      Tensor counts = program->output("counts").clone();
      double sum = 0;
      for (int64_t bin = 0; bin < bins; ++bin) sum += counts.at(bin);
      CHECK(sum == (watched ? double(x.elements()) : 0));
      if (!watched) continue;
      if (gpu) CHECK(same_bits(counts, expected));
      else expected = counts;
    }
  }
}
