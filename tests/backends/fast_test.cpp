// Every op's fast kernels against the plain ones, in every floating type, on the same numbers. What is expected is
// computed in f64.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/cpu/amx.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

// Sizes of what is added up for each result: the plain kernels on absolute values, for the ops that add.
std::vector<Tensor> magnitudes(const OpCase& c, const CaseRun& reference) {
  const bool adds = c.op.ends_with("matmul") || c.op == "sum" || c.op == "scatter_add" ||
                    c.op.starts_with("convolution") || c.op.ends_with("_max_gradient") || c.op.starts_with("pool_avg");
  if (!adds) return {};
  Graph graph;
  build_case(graph, c, DType::f64);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.plain = true});
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(reference.inputs[i].clone());
    for (int64_t k = 0; k < inputs[i].elements(); ++k) inputs[i].set(k, std::abs(inputs[i].at(k)));
    program->bind(text("in", i), inputs[i].data());
  }
  program->run(3);
  return {program->output("out0").clone()};
}

// The reference as the type of the result can hold it.
double held(DType dtype, double value) {
  Tensor one(dtype, {1});
  one.set(0, value);
  return one.at(0);
}

void check_implementations(const OpCase& c, DType dtype, const std::vector<std::string>& ran) {
  std::string all;
  for (const std::string& name : ran) all += name + " ";
  INFO("ran " << all);
  if (c.fast.empty()) {
    CHECK(ran.empty());
  } else if (c.fast == "mixed") {
    CHECK(ran.size() > 1);
  } else if (c.fast == "definition") {
    // whatever its ops run on, if they move anything
  } else if (c.fast == "product") {
    CHECK(ran.size() == 1);
    if (dtype == DType::bf16 && all == "amx ") return;
    CHECK(all.starts_with(dtype == DType::f64 ? "loops" : "onednn:"));
  } else if (c.fast == "empty matmul") {
    CHECK(ran.size() == 1);
  } else {
    for (const std::string& name : ran) CHECK(name == c.fast);
    CHECK(ran.size() >= 1);
  }
}

void check(const OpCase& c, DType dtype, bool fuse) {
  INFO(c.to_string() << " in " << std::string(name_of(dtype)) << (fuse ? "" : ", not fused"));
  const CaseRun reference = run_case(c, DType::f64, dtype, {.plain = true});
  const CaseRun fast = run_case(c, dtype, dtype, {.threads = 2, .fuse = fuse});
  const std::vector<Tensor> sizes = magnitudes(c, reference);
  if (fuse) check_implementations(c, dtype, fast.implementations);
  for (size_t i = 0; i < fast.outputs.size(); ++i) {
    const Tensor& y = reference.outputs[i];
    Tensor expected(DType::f64, y.shape());
    std::vector<double> allowed;
    for (int64_t k = 0; k < y.elements(); ++k) {
      expected.set(k, held(fast.outputs[i].dtype(), y.at(k)));
      const double size = sizes.empty() ? std::max(1.0, std::abs(y.at(k))) : sizes[i].at(k);
      const int stores = fuse ? int(fast.implementations.size()) : 8;
      const double most = allowed_error(dtype, stores > 1 ? size : y.at(k), size, c.length, stores);
      allowed.push_back(is_floating(fast.outputs[i].dtype()) && c.op != "argmax" ? most : 0);
    }
    CHECK(difference(fast.outputs[i], expected, allowed) == "");
  }
}

}  // namespace

TEST_CASE("every op has cases") {
  for (const Op* op : all_ops()) {
    INFO(op->name);
    CHECK(!cases_of(*op).empty());
  }
}

// oneDNN's kernels of that name overrun their scratch memory there: what they destroy shows anywhere, or nowhere.
TEST_CASE("1x1 filters that step over few channels get their gradient from a kernel that keeps to its memory") {
  int seen = 0;
  for (const OpCase& c : all_cases())
    if (c.op == "convolution_weight_gradient" && c.name == "1x1 with strides, few channels")
      for (const std::string& ran : run_case(c, DType::f32, DType::f32, {.threads = 2}).implementations) {
        INFO(ran);
        CHECK(!ran.starts_with("onednn:jit_1x1"));
        ++seen;
      }
  CHECK(seen > 0);
}

TEST_CASE("filters of 32 samples and more get their gradient from AMX where there is one, in bf16") {
  int seen = 0;
  for (const OpCase& c : all_cases()) {
    if (c.op != "convolution_weight_gradient" || c.name.find(" samples") == std::string::npos) continue;
    if (c.inputs[0].shape[0] < 32) continue;
    for (DType dtype : {DType::bf16, DType::f32})
      for (const std::string& ran : run_case(c, dtype, dtype, {.threads = 3}).implementations) {
        INFO(c.to_string() << " ran " << ran);
        CHECK((ran == "amx") == (dtype == DType::bf16 && cpu::has_amx()));
        ++seen;
      }
  }
  CHECK(seen >= 12);
}

TEST_CASE("fast kernels agree with plain ones in f64") {
  for (const OpCase& c : all_cases()) check(c, DType::f64, true);
}

TEST_CASE("fast kernels agree with plain ones in f32") {
  for (const OpCase& c : all_cases()) check(c, DType::f32, true);
}

TEST_CASE("fast kernels agree with plain ones in bf16") {
  for (const OpCase& c : all_cases()) check(c, DType::bf16, true);
}

TEST_CASE("fast kernels agree with plain ones in f16") {
  for (const OpCase& c : all_cases()) check(c, DType::f16, true);
}

TEST_CASE("a kernel for every node agrees, too") {
  for (const OpCase& c : all_cases()) check(c, DType::f32, false);
}
