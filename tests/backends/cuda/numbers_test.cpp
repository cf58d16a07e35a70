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

namespace {

using L = long double;

// A function that a GPU makes by units of its own where 16 bits are stored. `terms` is the size of what the formula
// adds.
struct Coarse {
  const char* name;
  L (*value)(L x);
  L (*slope)(L x);  // null: made from the value
  L (*terms)(L x);
};

L share_below(L x) { return std::erfc(-x / std::numbers::sqrt2_v<L>) / 2; }
L bell(L x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<L>); }
L logistic(L x) { return 1 / (1 + std::exp(-x)); }
L angle(L x) { return 2 * std::sqrt(2 / std::numbers::pi_v<L>) * (x + 0.044715L * x * x * x); }
L angle_slope(L x) { return 2 * std::sqrt(2 / std::numbers::pi_v<L>) * (1 + 3 * 0.044715L * x * x); }
L of_angle(L x) { return x * logistic(angle(x)) * logistic(-angle(x)) * angle_slope(x); }

const Coarse kCoarse[] = {
    {"exp", [](L x) { return std::exp(x); }, nullptr, nullptr},
    {"logistic", [](L x) { return logistic(x); }, nullptr, nullptr},
    {"tanh", [](L x) { return std::tanh(x); }, nullptr, nullptr},
    {"swish", [](L x) { return x * logistic(x); }, [](L x) { return logistic(x) * (1 + x * logistic(-x)); },
     [](L x) { return logistic(x) * (1 + std::fabs(x) * logistic(-x)); }},
    {"gelu", [](L x) { return x * share_below(x); }, [](L x) { return share_below(x) + x * bell(x); },
     [](L x) { return share_below(x) + std::fabs(x) * bell(x); }},
    {"gelu_tanh", [](L x) { return x * logistic(angle(x)); }, [](L x) { return logistic(angle(x)) + of_angle(x); },
     [](L x) { return logistic(angle(x)) + std::fabs(of_angle(x)); }},
};

// Within the rounding to 16 bits of what is 2^-14 beside the truth, or is 0 for a factor below the least normal f32;
// none of the others exceeds 1 + 2 x^2.
void check_near(const Tensor& made, const Tensor& x, L (*value)(L), L (*terms)(L)) {
  constexpr L kMost = 0x1p60L;  // beyond it the square of a number exceeds f32
  const bool wide = made.dtype() == DType::bf16;
  const L largest = wide ? 0x1.fep127L : 65504;
  const int digits = wide ? 7 : 10;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double at = x.at(i);
    if (std::isnan(at)) REQUIRE(std::isnan(made.at(i)));
    if (!(std::fabs(at) <= kMost)) continue;
    const L expected = value(at), size = std::fabs(expected);
    if (size > largest) continue;
    const L step = std::ldexp(1.0L, size > 0 ? std::ilogb(size) - digits : -200);
    const L least = wide ? 0x1p-126L * (1 + 2 * L(at) * at) : 0x1.1p-25L;
    const L near = 0x1p-14L * (terms ? terms(at) : size) + step / 2 + least;
    if (std::fabs(L(made.at(i)) - expected) > near) FAIL_CHECK(at << ": " << made.at(i) << " for " << double(expected));
  }
}

}  // namespace

TEST_CASE("functions whose results are stored in 16 bits are as near as 16 bits, of every number") {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const Coarse& function : kCoarse) {
      INFO(function.name << " in " << std::string(name_of(dtype)));
      const Tensor x = every_number(dtype);
      const auto value = [&](Graph& graph, Value input) { return apply(function.name, Expr(graph, input)).value(); };
      const auto slope = [&](Graph& graph, Value input) {
        const Expr y = apply(function.name, Expr(graph, input));
        return gradients(graph, sum(y, {0}).value(), std::vector<Value>{input})[0];
      };
      check_near(result(value, x, true), x, function.value, nullptr);
      if (function.slope) check_near(result(slope, x, true), x, function.slope, function.terms);
    }
}
