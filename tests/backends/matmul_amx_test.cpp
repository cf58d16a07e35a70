// Products on AMX, against sums in f64: those of bf16 and those of f32 by three terms of bf16.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "backends/cpu/amx.h"
#include "backends/program.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

struct AmxProduct {
  int64_t rows, depth, columns;
  bool transpose_a, transpose_b;
};

// With numbers of all sizes between 2^-40 and 2^40 where `wide`.
Tensor drawn_matrix(const std::string& name, DType dtype, const Shape& shape, bool wide) {
  Tensor out(dtype, shape);
  Stream stream(5, name);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const double x = stream.normal();
    out.set(i, wide ? std::ldexp(x, int(stream.below(81)) - 40) : x);
  }
  return out;
}

Tensor drawn_matrix(const std::string& name, DType dtype, int64_t rows, int64_t columns, bool transposed, bool wide) {
  return drawn_matrix(name, dtype, transposed ? Shape{columns, rows} : Shape{rows, columns}, wide);
}

double element(const Tensor& x, int64_t row, int64_t column, bool transposed) {
  return x.at(transposed ? column * x.shape()[1] + row : row * x.shape()[1] + column);
}

struct Outcome {
  Tensor c;
  std::string implementation;
};
Outcome outcome_of(const Tensor& a, const Tensor& b, const AmxProduct& p, int threads) {
  Graph graph;
  const Value left = graph.input("a", a.dtype(), a.shape()), right = graph.input("b", b.dtype(), b.shape());
  graph.output("c", graph.add("matmul", {left, right},
                              {{"transpose_a", int64_t(p.transpose_a)}, {"transpose_b", int64_t(p.transpose_b)}}));
  Variables none;
  const auto program = compile_for_cpu(graph, none, {.threads = threads});
  program->bind("a", a.data()), program->bind("b", b.data());
  for (int run = 0; run < 2; ++run) program->run(uint64_t(run));
  return {program->output("c").clone(), program->implementations()[0]};
}

// How many of every 397th element are wrong.
int64_t wrong_elements(const Tensor& c, const Tensor& a, const Tensor& b, const AmxProduct& p) {
  int64_t wrong = 0;
  for (int64_t at = 0; at < c.elements(); at += 397) {
    const int64_t i = at / p.columns, j = at % p.columns;
    double sum = 0, size = 0;
    for (int64_t k = 0; k < p.depth; ++k) {
      const double product = element(a, i, k, p.transpose_a) * element(b, k, j, p.transpose_b);
      sum += product, size += std::fabs(product);
    }
    const double rounding = c.dtype() == DType::bf16 ? std::fabs(sum) * 0x1p-8 : 0;
    wrong += !(std::fabs(c.at(at) - sum) <= rounding + (std::sqrt(double(p.depth)) + 2) * 0x1p-24 * size);
  }
  return wrong;
}

const AmxProduct kProducts[] = {{1030, 1100, 530, false, true},
                                {600, 2100, 530, false, false},
                                {520, 4100, 390, true, false},
                                {900, 700, 1000, true, true}};

}  // namespace

TEST_CASE("products on AMX are the sums of the products, the same by any number of threads") {
  if (!cpu::has_amx()) {
    WARN("this processor, or the level that is asked for, has no AMX");
    return;
  }
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const AmxProduct& p : kProducts)
      for (const bool wide : {false, true}) {
        if (dtype == DType::bf16 && p.transpose_b) continue;  // oneDNN's
        INFO(name_of(dtype) << ' ' << p.rows << ' ' << p.depth << ' ' << p.columns << (wide ? " of all sizes" : ""));
        const Tensor a = drawn_matrix("a", dtype, p.rows, p.depth, p.transpose_a, wide),
                     b = drawn_matrix("b", dtype, p.depth, p.columns, p.transpose_b, wide);
        const Outcome by_one = outcome_of(a, b, p, 1);
        CHECK(wrong_elements(by_one.c, a, b, p) == 0);
        CHECK(by_one.implementation == (dtype == DType::f32 ? "amx:3" : "amx"));
        for (const int threads : {2, 7}) CHECK(same_bits(outcome_of(a, b, p, threads).c, by_one.c));
      }
}

TEST_CASE("products on AMX of infinities, NaN and the largest numbers are those of the arithmetic") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLargest = std::numeric_limits<float>::max();
  const AmxProduct p = kProducts[0];
  for (const float special : {kInfinity, -kInfinity, kLargest, std::numeric_limits<float>::quiet_NaN()})
    for (const bool in_b : {false, true}) {
      INFO(special << (in_b ? " in b" : " in a"));
      Tensor a(DType::f32, {p.rows, p.depth}), b(DType::f32, {p.columns, p.depth});
      for (Tensor* x : {&a, &b}) std::ranges::fill(x->as<float>(), 0.5f);
      (in_b ? b : a).as<float>()[size_t(3 * p.depth + 7)] = special;
      const Tensor c = outcome_of(a, b, p, 2).c;
      int64_t wrong = 0;
      for (int64_t at = 0; at < c.elements(); ++at) {
        const bool reached = (in_b ? at % p.columns : at / p.columns) == 3;
        const double usual = 0.25 * double(p.depth - reached), got = c.at(at),
                     expected = reached ? usual + 0.5 * double(special) : usual;
        wrong += std::isnan(expected) ? !std::isnan(got) : got != double(float(expected));
      }
      CHECK(wrong == 0);
    }
}
