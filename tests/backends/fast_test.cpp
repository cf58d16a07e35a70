// Every op's fast kernels against the plain ones, in every floating type, on the same numbers. What is expected is
// computed in f64.
#include <catch2/catch.hpp>

#include "backends/cpu/amx.h"
#include "backends/cpu/winograd.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

void check_implementations(const OpCase& c, DType dtype, const std::vector<std::string>& ran) {
  std::string all;
  for (const std::string& name : ran) all += name + " ";
  INFO("ran " << all << "; the case expects (OpCase::fast) '" << c.fast << "'");
  if (c.fast.empty()) {
    CHECK(ran.empty());
  } else if (c.fast == "mixed") {
    CHECK(ran.size() > 1);
  } else if (c.fast == "definition") {
    // whatever its ops run on, if they move anything
  } else if (c.fast == "product") {
    CHECK(ran.size() == 1);
    if (dtype == DType::bf16 && all == "amx ") return;
    if (cpu::computes_in_f32(dtype) && all.starts_with("winograd:")) return;
    const bool a_filter_each = c.name.starts_with("depthwise") && !c.name.ends_with("two maps each");
    CHECK(all.starts_with(dtype != DType::f64 ? "onednn:" : a_filter_each ? "loops" : "blocks"));
  } else if (c.fast == "empty product") {
    CHECK(ran.size() == 1);
  } else {
    for (const std::string& name : ran) CHECK(name == c.fast);
    CHECK(ran.size() >= 1);
  }
}

void check(const OpCase& c, DType dtype, const PlainRun& plain, bool fuse) {
  INFO(c.to_string() << " in " << std::string(name_of(dtype)) << (fuse ? "" : ", not fused"));
  const CaseRun fast = run_case(c, dtype, dtype, {.threads = 2, .fuse = fuse});
  if (fuse) check_implementations(c, dtype, fast.implementations);
  CHECK(difference_to_plain(c, dtype, fast, plain, fuse) == "");
}

void check(const OpCase& c, DType dtype) { check(c, dtype, run_plain(c, dtype), true); }

}  // namespace

TEST_CASE("every op has cases") {
  for (const Op* op : all_ops()) {
    INFO(op->name << " needs a row of makers() in tests/backends/op_cases.cpp");
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

// oneDNN's direct kernels in bf16 fill vectors of 16 with zeros behind the channels of a group, which cost more than
// f32.
TEST_CASE("groups of few channels run in bf16 on no kernel that is slower than one of f32") {
  int seen = 0;
  for (const OpCase& c : all_cases()) {
    if (!c.op.starts_with("convolution") || c.attributes.integer("groups") < 2) continue;
    const int64_t groups = c.attributes.integer("groups");
    if (c.inputs[0].shape.back() / groups % 16 == 0) continue;
    for (const std::string& ran : run_case(c, DType::bf16, DType::bf16, {.threads = 2}).implementations) {
      INFO(c.to_string() << ": " << ran);
      CHECK(!ran.starts_with("onednn:jit_bf16"));
      ++seen;
    }
  }
  CHECK(seen > 0);
}

TEST_CASE("filters of 32 samples and more get their gradient from AMX where there is one, in bf16") {
  int seen = 0;
  for (const OpCase& c : all_cases()) {
    if (c.op != "convolution_weight_gradient" || c.name.find(" samples") == std::string::npos) continue;
    if (c.inputs[0].shape[0] < 32 || c.attributes.integer("groups") > 1) continue;
    for (DType dtype : {DType::bf16, DType::f32})
      for (const std::string& ran : run_case(c, dtype, dtype, {.threads = 3}).implementations) {
        INFO(c.to_string() << " ran " << ran);
        CHECK((ran == "amx") == (dtype == DType::bf16 && cpu::has_amx()));
        ++seen;
      }
  }
  CHECK(seen >= 12);
}

TEST_CASE("fast kernels agree with plain ones in f64", "[op]") {
  for (const OpCase& c : all_cases()) check(c, DType::f64);
}

TEST_CASE("fast kernels, and a kernel for every node, agree with plain ones in f32", "[op]") {
  for (const OpCase& c : all_cases()) {
    const PlainRun plain = run_plain(c, DType::f32);
    check(c, DType::f32, plain, true);
    check(c, DType::f32, plain, false);
  }
}

TEST_CASE("fast kernels agree with plain ones in bf16", "[op]") {
  for (const OpCase& c : all_cases()) check(c, DType::bf16);
}

TEST_CASE("fast kernels agree with plain ones in f16", "[op]") {
  for (const OpCase& c : all_cases()) check(c, DType::f16);
}

TEST_CASE("sums of long columns do not drift, in f32 either") {
  constexpr float kNumber = 0.1f;
  for (const Shape& shape :
       {Shape{20'000'000, 1}, Shape{10'000'000, 2}, Shape{1'000'000, 7}, Shape{1, 8'000'001}, Shape{3, 300'001, 5}})
    for (int axis = 0; axis < shape.rank(); ++axis) {
      Graph graph;
      const Expr x(graph, graph.input("x", DType::f32, shape));
      graph.output("sum", sum(x, {axis}));
      std::vector<int64_t> axes = {0, 1, 2};
      axes.resize(size_t(shape.rank()));
      graph.output("all", sum(x, axes));
      Variables variables;
      const auto program = compile_for_cpu(graph, variables, {.threads = 2});
      const std::vector<float> numbers(size_t(shape.elements()), kNumber);
      program->bind("x", numbers.data());
      program->run(0);
      INFO(shape.to_string() << " along axis " << axis);
      const Tensor sums = program->output("sum");
      CHECK(sums.at(sums.elements() - 1) == Approx(double(shape[axis]) * kNumber).epsilon(5e-6));
      CHECK(program->output("all").at(0) == Approx(double(shape.elements()) * kNumber).epsilon(5e-6));
    }
}
