// Laws of attention beside its numbers: more padding and other threads change no bit.
#include "backends/graph/attention.h"

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
