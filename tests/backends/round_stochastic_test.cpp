// Stochastic rounding against its definition, written out here in double, draw by draw; and what the definition is for:
// no bias, and nothing done to what needs no rounding.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "backends/graph/rounded_part.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr uint64_t kSeed = 9;

Tensor rounded(const Tensor& x, DType to, int bits, uint64_t step, bool plain = false) {
  Graph graph;
  const Expr input(graph, graph.input("x", x.dtype(), x.shape()));
  graph.output("y", round_stochastic(input, to, bits, kSeed, "draws"));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 2, .plain = plain});
  program->bind("x", x.data());
  program->run(step);
  return program->output("y").clone();
}

Tensor array(const std::vector<double>& values, DType dtype = DType::f32) {
  Tensor out(dtype, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out.set(int64_t(i), values[i]);
  return out;
}

// Below it numbers of that many bits are as far apart as just above it.
int least_exponent(DType dtype, int bits) { return dtype == DType::f16 ? bits - 24 : -126; }

double spacing(double x, DType to, int bits) {
  const int least = least_exponent(to, bits);
  return std::ldexp(1, (x == 0 ? least : std::max(std::ilogb(x), least)) - bits);
}

double by_definition(double x, DType to, int bits, double u) {
  const double step = spacing(x, to, bits), below = std::floor(std::fabs(x) / step) * step;
  const double part = (std::fabs(x) - below) / step;
  return std::copysign(u >= 1 - part ? below + step : below, x);
}

// Of all sizes: some subnormal, some too large for the type.
Tensor numbers_of_all_sizes(DType to) {
  const double least = least_exponent(to, most_kept_bits(to)) - most_kept_bits(to) - 3,
               most = to == DType::f16 ? 17 : 127.9;
  Tensor out(DType::f32, {4096});
  Stream stream(2, "sizes");
  for (int64_t i = 0; i < out.elements(); ++i) {
    const double size = std::exp2(least + (most - least) * stream.uniform());
    out.set(i, stream.uniform() < 0.5 ? -size : size);
  }
  return out;
}

float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }

}  // namespace

TEST_CASE("stochastic rounding takes the neighbour that its definition says, draw by draw") {
  for (DType to : {DType::f32, DType::f16, DType::bf16})
    for (int bits = 1; bits <= most_kept_bits(to); ++bits) {
      const Tensor x = numbers_of_all_sizes(to), fast = rounded(x, to, bits, 4), plain = rounded(x, to, bits, 4, true);
      Tensor expected(to, x.shape());
      Stream draws(kSeed, "draws", 4);
      for (int64_t i = 0; i < x.elements(); ++i)
        expected.set(i, by_definition(x.at(i), to, bits, double(uniform_from_bits(draws.bits()))));
      INFO(bits << " bits of " << std::string(name_of(to)));
      CHECK(difference(fast, expected) == "");
      CHECK(same_bits(fast, plain));
    }
}

TEST_CASE("rounding up is as likely as the part of the way that lies behind") {
  struct Case {
    double x;
    DType to;
    int bits;
    double low, high, up;
  };
  const double tiny = std::ldexp(1, -24);  // the smallest f16
  const std::vector<Case> cases = {
      {1.1f, DType::f16, 1, 1, 1.5, (1.1f - 1) / 0.5},  // neon's own example: 1.5 in a fifth of the draws
      {-1.1f, DType::f16, 1, -1, -1.5, (1.1f - 1) / 0.5},
      {1.1f, DType::f32, 15, 1 + 3276 / 32768.0, 1 + 3277 / 32768.0, (1.1f - 1) * 32768 - 3276},
      {1.9f, DType::bf16, 2, 1.75, 2, (1.9f - 1.75) / 0.25},  // up into the next power of two
      {0.3 * tiny, DType::f16, 10, 0, tiny, double(0.3f)},
      {65510, DType::f16, 10, 65504, HUGE_VAL, 6.0 / 32},
      {3.75, DType::i32, 0, 3, 4, 0.75},
      {-3.75, DType::i8, 0, -3, -4, 0.75}};
  constexpr int64_t kDraws = 1 << 18;
  for (const Case& c : cases) {
    INFO(c.x << " to " << c.bits << " bits of " << std::string(name_of(c.to)));
    const Tensor y = rounded(array(std::vector<double>(kDraws, c.x)), c.to, c.bits, 1);
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < kDraws; ++i) low += y.at(i) == c.low, high += y.at(i) == c.high;
    CHECK(low + high == kDraws);
    // Five deviations of a binomial number: a true coin fails once in 1.7 million runs, and the draws are fixed.
    const double deviation = std::sqrt(double(kDraws) * c.up * (1 - c.up));
    CHECK(std::fabs(double(high) - double(kDraws) * c.up) < 5 * deviation);
  }
}

TEST_CASE("what needs no rounding keeps its bits") {
  for (DType to : {DType::f16, DType::bf16}) {
    Tensor all(to, {65536});
    for (int i = 0; i < 65536; ++i) static_cast<uint16_t*>(all.data())[i] = uint16_t(i);
    const Tensor y = rounded(all, to, most_kept_bits(to), 3);
    for (int i = 0; i < 65536; ++i) {
      if (std::isnan(all.at(i))) REQUIRE(std::isnan(y.at(i)));
      else REQUIRE(static_cast<const uint16_t*>(y.data())[i] == i);
    }
  }
  for (int bits = 1; bits <= 15; ++bits) {
    Tensor x(DType::f32, {5000});
    Stream stream(4, "bits");
    for (float& v : x.as<float>()) v = from_bits(stream.bits() & (0xffffffffu << (23 - bits)));
    const Tensor y = rounded(x, DType::f32, bits, 3);
    for (int64_t i = 0; i < x.elements(); ++i)
      REQUIRE((x.at(i) == y.at(i) || (std::isnan(x.at(i)) && std::isnan(y.at(i)))));
  }
}

TEST_CASE("NaN, infinities and the sign of zero come through stochastic rounding") {
  for (DType to : {DType::f32, DType::f16, DType::bf16})
    for (bool plain : {false, true}) {
      const Tensor y = rounded(array({NAN, HUGE_VAL, -HUGE_VAL, 0.0, -0.0}), to, 2, 1, plain);
      CHECK(std::isnan(y.at(0)));
      CHECK(y.at(1) == HUGE_VAL);
      CHECK(y.at(2) == -HUGE_VAL);
      CHECK((y.at(3) == 0 && !std::signbit(y.at(3))));
      CHECK((y.at(4) == 0 && std::signbit(y.at(4))));
    }
}

TEST_CASE("each step draws anew, and the same again") {
  const Tensor x = array(std::vector<double>(1000, 1.3));
  const Tensor first = rounded(x, DType::f16, 3, 1), second = rounded(x, DType::f16, 3, 2);
  CHECK(same_bits(first, rounded(x, DType::f16, 3, 1)));
  CHECK(!same_bits(first, second));
}

TEST_CASE("a part of an array is rounded as it is in the whole") {
  constexpr int64_t kRows = 12, kColumns = 10;
  Tensor x(DType::f32, {kRows, kColumns});
  for (int64_t i = 0; i < x.elements(); ++i) x.set(i, 1 + 0.01 * double(i));
  const Tensor whole = rounded(x, DType::f16, 2, 5);
  for (const PartOf& part : {PartOf{0, 0, kRows}, PartOf{0, 5, kRows}, PartOf{1, 0, kColumns}, PartOf{1, 3, kColumns}})
    for (bool plain : {false, true}) {
      const int64_t count = 4, rows = part.axis ? kRows : count, columns = part.axis ? count : kColumns;
      const auto place = [&](int64_t row, int64_t column) {
        return (row + (part.axis ? 0 : part.first)) * kColumns + column + (part.axis ? part.first : 0);
      };
      Tensor own(DType::f32, {rows, columns});
      for (int64_t i = 0; i < own.elements(); ++i) own.set(i, x.at(place(i / columns, i % columns)));
      Graph graph;
      const Expr input(graph, graph.input("x", DType::f32, own.shape()));
      graph.output("y", round_part_stochastic(input, DType::f16, 2, kSeed, "draws", part));
      Variables variables;
      const auto program = compile_for_cpu(graph, variables, {.threads = 2, .plain = plain});
      program->bind("x", own.data());
      program->run(5);
      const Tensor y = program->output("y").clone();
      for (int64_t i = 0; i < own.elements(); ++i) CHECK(y.at(i) == whole.at(place(i / columns, i % columns)));
    }
}

TEST_CASE("an update that is rounded by chance is one kernel") {
  Graph graph;
  const Value stored = graph.variable("w", DType::f16, {300});
  const Expr weight = cast(Expr(graph, stored), DType::f32), gradient(graph, graph.input("g", DType::f32, {300}));
  graph.assign(stored, round_stochastic(weight - 0.125 * gradient, DType::f16, 10, kSeed, "w"));
  CHECK(lower(graph).kernels.size() == 1);
}

TEST_CASE("bits that a type does not have are refused") {
  const Tensor x = array({1});
  CHECK_THROWS_WITH(rounded(x, DType::bf16, 8, 1), "stochastic rounding keeps 1 to 7 bits of bf16, not 8");
  CHECK_THROWS_WITH(rounded(x, DType::f16, 0, 1), "stochastic rounding keeps 1 to 10 bits of f16, not 0");
  CHECK_THROWS_WITH(rounded(x, DType::f64, 4, 1), "stochastic rounding is to f32, f16, bf16 or integers, not f64");
}
