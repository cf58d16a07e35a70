// Attention in f64 beside its formulas; and its laws: more padding and other threads change no bit.
#include "backends/graph/attention.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/program.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kSamples = 3, kHeads = 4, kKeyHeads = 2, kSize = 12;

struct AttentionRun {
  int64_t queries, keys;
  std::vector<int32_t> lengths;
  int threads = 2;
  DType dtype = DType::f32;
  bool causal = false;
};

// Numbers in [-1, 1) that depend on the sample, the step and the place in it alone.
Tensor steps_of(const char* name, int64_t steps, int64_t heads, DType dtype) {
  Tensor out(dtype, {kSamples, steps, heads, kSize});
  const int64_t row = heads * kSize;
  for (int64_t n = 0; n < kSamples; ++n)
    for (int64_t t = 0; t < steps; ++t) {
      Stream stream(3, text(name, n, " ", t));
      for (int64_t i = 0; i < row; ++i)
        out.set((n * steps + t) * row + i, std::ldexp(std::floor(stream.uniform() * 128 - 64), -6));
    }
  return out;
}

// y, dq, dk, dv.
std::vector<Tensor> attended(const AttentionRun& run) {
  Graph graph;
  std::vector<std::pair<std::string, Tensor>> given;
  const auto input = [&](const char* name, int64_t steps, int64_t heads) {
    given.emplace_back(name, steps_of(name, steps, heads, run.dtype));
    return graph.input(name, run.dtype, given.back().second.shape());
  };
  const Value q = input("q", run.queries, kHeads), k = input("k", run.keys, kKeyHeads),
              v = input("v", run.keys, kKeyHeads), g = input("g", run.queries, kHeads);
  const Value lengths = graph.input("lengths", DType::i32, {kSamples});
  given.emplace_back("lengths", Tensor(DType::i32, {kSamples}));
  for (int64_t n = 0; n < kSamples; ++n) given.back().second.set(n, run.lengths[size_t(n)]);
  const Value y = attention(graph, q, k, v, lengths, {.scale = 0.25, .causal = run.causal});
  const Value wanted[] = {q, k, v};
  graph.output("0", y);
  const std::vector<Value> derived = gradients(graph, y, wanted, g);
  for (size_t i = 0; i < 3; ++i) graph.output(text(i + 1), derived[i]);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = run.threads});
  for (const auto& [name, array] : given) program->bind(name, array.data());
  program->run(0);
  std::vector<Tensor> out;
  for (int i = 0; i < 4; ++i) out.push_back(program->output(text(i)).clone());
  return out;
}

// The first `steps` of x (N,T,H,D).
Tensor first_of(const Tensor& x, int64_t steps) {
  const int64_t row = x.shape()[2] * x.shape()[3];
  Tensor out(x.dtype(), {kSamples, steps, x.shape()[2], x.shape()[3]});
  for (int64_t i = 0; i < out.elements(); ++i)
    out.set(i, x.at(i / (steps * row) * x.shape()[1] * row + i % (steps * row)));
  return out;
}

}  // namespace

TEST_CASE("padding keys more changes no bit of attention and its gradients, and padding gets none") {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16})
    for (const int64_t keys : {9, 70, 128}) {
      INFO(text(dtype) << ", " << keys << " keys");
      AttentionRun run{.queries = 66, .keys = keys, .lengths = {int32_t(keys), 5, 0}, .dtype = dtype};
      const std::vector<Tensor> few = attended(run);
      run.keys = keys + 77;
      const std::vector<Tensor> many = attended(run);
      for (size_t i = 0; i < 4; ++i) {
        INFO("result " << i);
        CHECK(same_bits(i < 2 ? many[i] : first_of(many[i], keys), few[i]));
      }
      for (size_t i : {0, 1}) CHECK(few[i].at(few[i].elements() - 1) == 0);  // the last sample sees no key
      for (size_t i : {2, 3}) CHECK(many[i].at(many[i].elements() / 3 - 1) == 0);
    }
}

TEST_CASE("attention and its gradients have the same bits with any number of threads") {
  AttentionRun run{.queries = 130, .keys = 131, .lengths = {131, 40, 7}, .threads = 1, .causal = true};
  const std::vector<Tensor> one = attended(run);
  run.threads = 3;
  const std::vector<Tensor> three = attended(run);
  for (size_t i = 0; i < 4; ++i) CHECK(same_bits(one[i], three[i]));
}

namespace {

// Sizes N, T, S, H, K and D, as attention() has them.
struct NaiveCase {
  const char* name;
  int64_t samples, queries, keys, heads, key_heads, size;
  bool causal = false;
  std::vector<int32_t> lengths = {};
  double keep = 1;
  int64_t first = 0;

  AttentionOptions options() const { return {.scale = 0.3, .causal = causal, .keep = keep, .seed = 7, .first = first}; }
  bool sees(int64_t n, int64_t t, int64_t s) const {
    return (!causal || s <= t + keys - queries) && (lengths.empty() || s < lengths[size_t(n)]);
  }
  Shape of(int64_t steps, int64_t of_heads) const { return {samples, steps, of_heads, size}; }
};

Tensor numbers(const char* name, const Shape& shape) {
  Tensor out(DType::f64, shape);
  Stream stream(4, name);
  for (double& x : out.as<double>()) x = stream.uniform() * 2 - 1;
  return out;
}

// q, k, v and the cotangent; then y, dq, dk and dv.
struct NaiveRun {
  Tensor q, k, v, g, y, dq, dk, dv;
};

NaiveRun run_of(const NaiveCase& c, NaiveRun run) {
  Graph graph;
  const Value q = graph.input("q", DType::f64, run.q.shape()), k = graph.input("k", DType::f64, run.k.shape());
  const Value v = graph.input("v", DType::f64, run.v.shape()), g = graph.input("g", DType::f64, run.q.shape());
  const Value lengths = c.lengths.empty() ? Value() : graph.input("lengths", DType::i32, {c.samples});
  const Value y = attention(graph, q, k, v, lengths, c.options()), wanted[] = {q, k, v};
  const std::vector<Value> derived = gradients(graph, y, wanted, g);
  graph.output("y", y), graph.output("dq", derived[0]), graph.output("dk", derived[1]), graph.output("dv", derived[2]);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 2});
  program->bind("q", run.q.data()), program->bind("k", run.k.data()), program->bind("v", run.v.data());
  program->bind("g", run.g.data());
  if (lengths) program->bind("lengths", c.lengths.data());
  program->run(5);
  run.y = program->output("y").clone(), run.dq = program->output("dq").clone();
  run.dk = program->output("dk").clone(), run.dv = program->output("dv").clone();
  return run;
}

// The factors by which dropout multiplies each weight (N,H,T,S). Queries and keys of 0 give equal weights, and key s
// has 1 as the number s of its value: then y is these weights.
Tensor factors_of(NaiveCase c) {
  c.size = c.keys, c.causal = false, c.lengths = {};
  NaiveRun run{numbers("q", c.of(c.queries, c.heads)), numbers("k", c.of(c.keys, c.key_heads)),
               Tensor(DType::f64, c.of(c.keys, c.key_heads)), numbers("g", c.of(c.queries, c.heads))};
  std::ranges::fill(run.q.as<double>(), 0);
  for (int64_t i = 0; i < run.v.elements(); ++i)
    run.v.set(i, i % c.keys == i / (c.keys * c.key_heads) % c.keys ? double(c.keys) : 0);
  const Tensor y = run_of(c, std::move(run)).y;
  Tensor out(DType::f64, {c.samples, c.heads, c.queries, c.keys});
  for (int64_t i = 0; i < y.elements(); ++i) {
    const int64_t s = i % c.keys, h = i / c.keys % c.heads, t = i / (c.keys * c.heads) % c.queries;
    out.set(((i / (c.keys * c.heads * c.queries) * c.heads + h) * c.queries + t) * c.keys + s,
            y.at(i) > 0.5 ? 1 / c.keep : 0);
  }
  return out;
}

// The formulas, number by number: p = softmax(z), w = p m, y = w v, dp = m (g v'), dz = p (dp - sum(p dp)).
void attend_naively(const NaiveCase& c, const Tensor& factors, NaiveRun& run) {
  run.y = Tensor(DType::f64, run.q.shape()), run.dq = Tensor(DType::f64, run.q.shape());
  run.dk = Tensor(DType::f64, run.k.shape()), run.dv = Tensor(DType::f64, run.k.shape());
  const int64_t size = c.size;
  const auto query = [&](int64_t n, int64_t t, int64_t h) { return ((n * c.queries + t) * c.heads + h) * size; };
  const auto key = [&](int64_t n, int64_t s, int64_t h) {
    return ((n * c.keys + s) * c.key_heads + h / (c.heads / c.key_heads)) * size;
  };
  const auto add = [](Tensor& to, int64_t at, double x) { to.set(at, to.at(at) + x); };
  for (int64_t row = 0; row < c.samples * c.heads * c.queries; ++row) {
    const int64_t n = row / (c.heads * c.queries), h = row / c.queries % c.heads, t = row % c.queries;
    std::vector<double> p(size_t(c.keys), 0), dp(size_t(c.keys), 0);
    double total = 0, mean = 0;
    for (int64_t s = 0; s < c.keys; ++s) {
      double z = 0;
      for (int64_t d = 0; d < size; ++d) z += run.q.at(query(n, t, h) + d) * run.k.at(key(n, s, h) + d);
      if (c.sees(n, t, s)) total += p[size_t(s)] = std::exp(0.3 * z);
    }
    for (int64_t s = 0; s < c.keys && total > 0; ++s) {
      const double m = factors.at(row * c.keys + s), weight = m * (p[size_t(s)] /= total);
      for (int64_t d = 0; d < size; ++d) {
        const double g = run.g.at(query(n, t, h) + d), v = run.v.at(key(n, s, h) + d);
        add(run.y, query(n, t, h) + d, weight * v), add(run.dv, key(n, s, h) + d, weight * g);
        dp[size_t(s)] += m * g * v;
      }
      mean += p[size_t(s)] * dp[size_t(s)];
    }
    for (int64_t s = 0; s < c.keys; ++s)
      for (int64_t d = 0; d < size; ++d) {
        const double dz = 0.3 * p[size_t(s)] * (dp[size_t(s)] - mean);
        add(run.dq, query(n, t, h) + d, dz * run.k.at(key(n, s, h) + d));
        add(run.dk, key(n, s, h) + d, dz * run.q.at(query(n, t, h) + d));
      }
  }
}

}  // namespace

TEST_CASE("attention and its gradients are their formulas, number by number, in each layout") {
  for (const NaiveCase& c : {NaiveCase{"self", 2, 7, 7, 3, 3, 4},
                             {"causal, with dropout", 2, 7, 7, 2, 2, 5, true, {}, 0.75},
                             {"cross, lengths", 3, 5, 9, 2, 2, 6, false, {9, 4, 0}},
                             {"cross, dropout, lengths, shared keys", 3, 5, 9, 4, 2, 6, false, {9, 4, 0}, 0.5},
                             {"one head of keys", 2, 6, 8, 4, 1, 3, false, {}, 0.75, 5},
                             {"all at once", 3, 8, 11, 6, 2, 4, true, {11, 6, 0}, 0.5, 2},
                             {"all at once, of several blocks", 2, 70, 133, 4, 2, 9, true, {133, 65}, 0.75, 1}}) {
    INFO(c.name);
    NaiveRun run{numbers("q", c.of(c.queries, c.heads)), numbers("k", c.of(c.keys, c.key_heads)),
                 numbers("v", c.of(c.keys, c.key_heads)), numbers("g", c.of(c.queries, c.heads))};
    const Tensor factors = factors_of(c);
    double kept = 0;
    for (const double factor : factors.as<double>()) kept += factor > 0;
    const double share = kept / double(factors.elements());
    CHECK(std::abs(share - c.keep) <= 5 * std::sqrt(c.keep * (1 - c.keep) / double(factors.elements())));
    const NaiveRun got = run_of(c, run);
    attend_naively(c, factors, run);
    // Sums of at most 70 x 9 x 2 numbers, each below 2 / keep.
    const auto far = [](const Tensor& a, const Tensor& b) {
      double out = 0;
      for (int64_t i = 0; i < a.elements(); ++i) out = std::max(out, std::abs(a.at(i) - b.at(i)));
      return out;
    };
    CHECK(far(got.y, run.y) < 1e-12);
    CHECK(far(got.dq, run.dq) < 1e-12);
    CHECK(far(got.dk, run.dk) < 1e-12);
    CHECK(far(got.dv, run.dv) < 1e-12);
    CHECK(far(run.dk, Tensor(DType::f64, run.dk.shape())) > 1e-2);
  }
}
