// Attention, rotary positions, norms of samples and gradients of tables on the GPU against the plain kernels in f64.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "backends/graph/ops.h"
#include "tests/backends/attention_cases.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/lower_check.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

const char* const kOps[] = {"attention",  "attention_grad",  "rotary",        "normalize",          "normalize_grad",
                            "group_norm", "group_norm_grad", "rms_normalize", "rms_normalize_grad", "scatter_add"};

struct SelfAttention {
  int64_t steps, heads, key_heads, size;
};

// The gradients of queries, keys and values (2 steps, heads size), for themselves or side by side.
Graph gradients_of_attention(const SelfAttention& of, DType dtype, bool joined) {
  Graph graph;
  const Shape queries{2, of.steps, of.heads, of.size}, keys{2, of.steps, of.key_heads, of.size};
  std::vector<Value> inputs;
  for (const char* name : {"q", "k", "v", "y", "sums", "g"}) {
    const bool of_keys = *name == 'k' || *name == 'v';
    if (name == std::string("sums")) inputs.push_back(graph.input(name, compute_type(dtype), {2, of.heads, of.steps}));
    else inputs.push_back(graph.input(name, dtype, of_keys ? keys : queries));
  }
  std::vector<Value> rows;
  for (Value gradient : graph.add_all(ops::attention_grad, inputs, {{"scale", 0.125}, {"causal", int64_t(1)}})) {
    const Shape& shape = graph.shape(gradient);
    rows.push_back(reshape(graph, gradient, {2 * of.steps, shape[2] * shape[3]}));
  }
  if (joined) rows = {graph.add(ops::concat, rows, {{"axis", int64_t(1)}})};
  for (size_t i = 0; i < rows.size(); ++i) graph.output(text("rows ", i), rows[i]);
  return graph;
}

}  // namespace

TEST_CASE("op cases of attention, rotary positions, norms and tables on the GPU", "[parts][attention]") {
  std::vector<OpCase> cases;
  for (const char* op : kOps)
    for (OpCase& c : cases_of(*find_op(op))) cases.push_back(std::move(c));
  for (const OpCase& c : part_of(cases))
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      INFO(c.to_string() << " in " << text(dtype));
      const CaseRun gpu = run_case(c, dtype, dtype, DeviceOptions{.gpu = true});
      CHECK(difference_to_plain(c, dtype, gpu, true, 2) == "");
      if (c.op.starts_with("attention") && dtype != DType::f64)
        CHECK(gpu.implementations == std::vector<std::string>{"own"});
    }
}

TEST_CASE("op cases of attention in whole tiles, by cuDNN where the clock may choose", "[parts][attention]") {
  std::vector<OpCase> cases;
  for (const char* op : {"attention", "attention_grad"})
    for (OpCase& c : tiled_attention_cases(op)) cases.push_back(std::move(c));
  for (const OpCase& c : part_of(cases))
    for (const DType dtype : {DType::f16, DType::bf16}) {
      INFO(c.to_string() << " in " << text(dtype));
      const CaseRun gpu = run_case(c, dtype, dtype, DeviceOptions{.gpu = true, .timed = true});
      CHECK(gpu.implementations == std::vector<std::string>{"cudnn"});
      CHECK(difference_to_plain(c, dtype, gpu, true, 2) == "");
      const CaseRun own = run_case(c, dtype, dtype, DeviceOptions{.gpu = true});
      CHECK(own.implementations == std::vector<std::string>{"own"});
      CHECK(difference_to_plain(c, dtype, own, true, 2) == "");
    }
}

// A net with a broken weight must not train on.
TEST_CASE("attention by cuDNN keeps NaN", "[attention]") {
  for (const char* op : {"attention", "attention_grad"})
    for (const size_t broken : {0, 1, 2}) {
      OpCase c = tiled_attention_cases(op)[0];
      c.inputs[broken].values = {std::numeric_limits<double>::quiet_NaN()};
      const CaseRun gpu = run_case(c, DType::bf16, DType::bf16, DeviceOptions{.gpu = true, .timed = true});
      INFO(op << " with NaN for input " << broken);
      const int untouched = broken == 2 ? (c.op == "attention" ? 1 : 2) : -1;  // sums, and dv, need no values
      for (int i = 0; i < int(gpu.outputs.size()); ++i)
        if (i != untouched)
          CHECK(std::ranges::all_of(numbers(gpu.outputs[size_t(i)]), [](double y) { return std::isnan(y); }));
    }
}

TEST_CASE("gradients of attention are written side by side on the GPU", "[attention]") {
  for (const SelfAttention& of : {SelfAttention{128, 2, 2, 64}, {70, 4, 2, 16}, {33, 2, 1, 8}})
    for (const auto& [dtype, timed] : {std::pair{DType::f32, false}, {DType::f16, false}, {DType::bf16, true}}) {
      INFO(of.steps << " steps, " << of.heads << " heads of " << of.size << " in " << text(dtype));
      const DeviceOptions options{.gpu = true, .timed = timed};
      const auto apart = results_of(gradients_of_attention(of, dtype, false), options);
      const Graph joined = gradients_of_attention(of, dtype, true);
      Variables variables;
      const Lowered lowered = compile_program(joined, variables, options)->lowered();
      CHECK(std::ranges::none_of(lowered.kernels, [](const LoweredKernel& k) { return k.is(ops::concat); }));
      const Tensor all = results_of(joined, options).at("rows 0");
      int64_t first = 0;
      for (const auto& [name, part] : apart) {
        const int64_t columns = part.shape()[1];
        double farthest = 0, largest = 0;
        for (int64_t row = 0; row < part.shape()[0]; ++row)
          for (int64_t column = 0; column < columns; ++column) {
            const double wanted = part.at(row * columns + column);
            farthest = std::max(farthest, std::abs(all.at(row * all.shape()[1] + first + column) - wanted));
            largest = std::max(largest, std::abs(wanted));
          }
        INFO(name);
        CHECK(largest > 0);
        CHECK(farthest <= (timed ? largest / 64 : 0));  // cuDNN adds up in no fixed order
        first += columns;
      }
    }
}
