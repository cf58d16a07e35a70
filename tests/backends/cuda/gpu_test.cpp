// Programs on the GPU against the plain kernels in f64, for every op case and type; and what a run of steps needs.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "backends/graph/expression.h"
#include "neon/core/random.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/cuda/wide_cases.h"
#include "tests/backends/run_case.h"
#include "tests/backends/statistics_case.h"
#include "tests/backends/window_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

const DeviceOptions kGpu{.gpu = true};

// Returns what did the op; "" where nothing had to.
std::string check(const OpCase& c, DType dtype, const DeviceOptions& options) {
  const bool fuse = options.program.fuse;
  INFO(c.to_string() << " in " << std::string(name_of(dtype)) << (fuse ? "" : ", not fused")
                     << (options.timed ? ", timed" : ""));
  const CaseRun gpu = run_case(c, dtype, dtype, options);
  // Twice: products and sums may be contracted, which the functions of the table are not fitted for.
  CHECK(difference_to_plain(c, dtype, gpu, fuse, 2) == "");
  return gpu.implementations.empty() ? "" : gpu.implementations.back();
}

bool is_even(const std::vector<int64_t>& padding) {
  for (size_t i = 0; i < padding.size(); i += 2)
    if (padding[i] != padding[i + 1]) return false;
  return true;
}

// Of convolutions those that are products, by name.
bool is_of_pixels(const OpCase& c) { return c.name == "1x1" || c.name == "one pixel" || c.name == "64 samples, 1x1"; }

// Each channel has a filter of its own, whose places lie together.
bool is_of_channels(const OpCase& c) {
  const int64_t groups = c.attributes.integer("groups");
  const auto dilation = c.attributes.integers("dilation");
  return c.inputs[0].shape.back() == groups && std::ranges::all_of(dilation, [](int64_t d) { return d == 1; }) &&
         (c.op == "convolution_weight_gradient" ? c.inputs[1].shape.back() : c.inputs[1].shape[0]) == groups;
}

}  // namespace

TEST_CASE("cuDNN does convolutions, save in f64, of channels by themselves and in groups with uneven padding") {
  int by_library = 0, own = 0, products = 0;
  for (const OpCase& c : all_cases()) {
    if (!c.op.starts_with("convolution") || c.inputs[0].shape.elements() == 0) continue;
    INFO(c.to_string());
    DeviceOptions options = kGpu;
    options.program.fuse = false;  // as it stands, without blocks of pixels
    const bool taken =
        c.attributes.integer("groups") == 1 || (is_even(c.attributes.integers("padding")) && !is_of_channels(c));
    (taken ? by_library : own) += 1;
    CHECK(run_case(c, DType::f16, DType::f16, options).implementations.back() == (taken ? "cudnn" : "own"));
    const bool product = is_of_pixels(c);
    products += product;
    CHECK(run_case(c, DType::f64, DType::f64, options).implementations.back() == (product ? "cublaslt" : "own"));
  }
  CHECK(products == 3 * 3);
  CHECK(by_library > 50);
  CHECK(own > 3);
}
TEST_CASE("convolutions of pixels by the library that the clock finds faster") {
  std::set<std::string> taken;
  for (const OpCase& c : all_cases()) {
    if (!c.op.starts_with("convolution") || !is_of_pixels(c)) continue;
    for (DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (int time = 0; time < 2; ++time) {  // the second finds what the first chose, where there is a cache
        DeviceOptions options = kGpu;
        options.timed = true;
        options.program.fuse = false;
        taken.insert(check(c, dtype, options));
      }
  }
  const std::set<std::string> all = {"cudnn", "cublaslt", "terms"};
  for (const std::string& library : taken) CHECK(all.contains(library));
}
TEST_CASE("op cases in f32", "[parts][op]") {
  for (const OpCase& c : part_of(all_cases())) check(c, DType::f32, kGpu);
}
TEST_CASE("op cases in f64", "[parts][op]") {
  for (const OpCase& c : part_of(all_cases())) check(c, DType::f64, kGpu);
}
TEST_CASE("op cases in bf16", "[parts][op]") {
  for (const OpCase& c : part_of(all_cases())) check(c, DType::bf16, kGpu);
}
TEST_CASE("op cases in f16", "[parts][op]") {
  for (const OpCase& c : part_of(all_cases())) check(c, DType::f16, kGpu);
}
TEST_CASE("op cases with a kernel for every node", "[parts][op]") {
  DeviceOptions options = kGpu;
  options.program.fuse = false;
  for (const OpCase& c : part_of(all_cases())) check(c, DType::f32, options);
}
// f32 to their tolerance; in 16 bits a result is rounded once, by half a unit of its last place.
TEST_CASE("convolutions of neon 1's tests, and their gradients, in their own sizes", "[parts]") {
  for (const OpCase& c : part_of(large_convolution_cases())) {
    const CaseRun expected = run_case(c, DType::f64, DType::bf16, ProgramOptions{.plain = true});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.to_string() << " in " << std::string(name_of(dtype)));
      const CaseRun got = run_case(c, dtype, DType::bf16, kGpu);
      CHECK(difference_over_largest(got.outputs[0], expected.outputs[0]) <
            (dtype == DType::f32 ? 1e-5 : 1.01 * unit_roundoff(dtype)));
    }
  }
}

TEST_CASE("uniform numbers are the host's") {
  Graph graph;
  graph.output("y",
               graph.add("uniform", {},
                         {{"shape", std::vector<int64_t>{1001}}, {"seed", int64_t(7)}, {"stream", std::string("a")}}));
  Variables on_cpu, on_gpu;
  const auto cpu = compile_program(graph, on_cpu, {}), gpu = compile_program(graph, on_gpu, kGpu);
  const uint64_t step = (uint64_t(5) << 32) + 9;
  cpu->run(step);
  gpu->run(step);
  CHECK(same_bits(cpu->output("y"), gpu->output("y")));
}

TEST_CASE("runs queue up: variables advance, scalars and sequences are of each run, results are remembered") {
  Graph graph;
  Expr x(graph, graph.input("x", DType::f32, {4})), w(graph, graph.variable("w", DType::f32, {4})),
      rate(graph, graph.scalar("rate"));
  graph.assign(w, w + x * rate);
  graph.output("sum", sum(x, {0}));
  Variables variables;
  const auto program = compile_program(graph, variables, {.gpu = true, .sequences = {"x"}});
  std::vector<float> rows(400);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = float(i % 17);
  program->bind_sequence("x", rows.data(), 400);
  variables.at("w").set(0, 3);
  variables.to_device();
  std::vector<double> expected = {3, 0, 0, 0}, sums;
  for (int run = 0; run < 100; ++run) {
    program->set_first(4 * run);
    program->set_scalar("rate", run);
    program->run(uint64_t(run));
    sums.push_back(0);
    for (size_t k = 0; k < 4; ++k)
      expected[k] += run * rows[size_t(4 * run) + k], sums.back() += rows[size_t(4 * run) + k];
  }
  REQUIRE(program->depth("sum") >= 100);
  for (int back = 0; back < 100; ++back) CHECK(program->recorded("sum", 0, back) == sums[size_t(99 - back)]);
  variables.to_host();
  for (int64_t k = 0; k < 4; ++k) CHECK(variables.at("w").at(k) == expected[size_t(k)]);
}

TEST_CASE("after a step that is not finite nothing is written until the host says so") {
  Graph graph;
  Expr x(graph, graph.input("x", DType::f32, {1})), w(graph, graph.variable("w", DType::f32, {1}));
  Expr finite = sum(apply("is_finite", x), {0});
  graph.output("finite", finite);
  graph.assign(w, w + x, finite);
  Expr count(graph, graph.variable("count", DType::f32, {1}));
  graph.assign(count, count + 1.0);  // not guarded: also in the run that was not finite, but in none that follow
  Variables variables;
  const auto program = compile_program(graph, variables, {.gpu = true, .sequences = {"x"}});
  const float rows[] = {1, INFINITY, 10, 100};
  program->bind_sequence("x", rows, 4);
  for (int run = 0; run < 3; ++run) program->set_first(run), program->run(uint64_t(run));
  CHECK(program->recorded("finite", 0, 1) == 0);
  variables.to_host();
  CHECK(variables.at("w").at(0) == 1);
  CHECK(variables.at("count").at(0) == 2);
  program->go_on();
  program->set_first(3);
  program->run(3);
  variables.to_host();
  CHECK(variables.at("w").at(0) == 101);
  CHECK(variables.at("count").at(0) == 3);
}

TEST_CASE("a row that does not exist is an error, not a wrong number") {
  Graph graph;
  graph.output("y", gather(graph, graph.input("data", DType::f32, {5, 3}), graph.input("rows", DType::i32, {2})));
  Variables variables;
  const auto program = compile_program(graph, variables, kGpu);
  const std::vector<float> data(15, 1);
  const int32_t rows[] = {4, 5};
  program->bind("data", data.data());
  program->bind("rows", rows);
  program->run(0);
  CHECK_THROWS_WITH(program->output("y"), Catch::Contains("index 5 at place 1 is not in [0, 5)"));
}

TEST_CASE("a GPU that does not exist is named with those that do") {
  Graph graph;
  graph.output("y", square(Expr(graph, graph.input("x", DType::f32, {1}))));
  Variables variables;
  CHECK_THROWS_WITH(compile_program(graph, variables, {.gpu = true, .gpu_index = 99}),
                    Catch::Contains("there is no GPU 99") && Catch::Contains("0: "));
}

TEST_CASE("what threads have opened of a GPU is used by others, and what they cannot open waits for who needs it") {
  std::string why_not;
  GpuModule* const module = gpu_module(why_not);
  const auto waking = module->wake(0, true), in_vain = module->wake(99, true);
  CHECK(waking.size() == 3);  // the device, cuDNN, cuBLASLt
  // Channels last; of ones each y is the number of numbers in its window.
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {2, 5, 5, 4})), w(graph, graph.input("w", DType::f32, {8, 3, 3, 4}));
  graph.output("y", graph.add("convolution", {x, w},
                              {{"strides", std::vector<int64_t>{1, 1}},
                               {"padding", std::vector<int64_t>{1, 1, 1, 1}},
                               {"dilation", std::vector<int64_t>{1, 1}},
                               {"groups", int64_t(1)}}));
  Variables variables;
  const auto program = compile_program(graph, variables, kGpu);
  Tensor ones(DType::f32, {2, 5, 5, 4}), filters(DType::f32, {8, 3, 3, 4});
  for (Tensor* t : {&ones, &filters})
    for (int64_t i = 0; i < t->elements(); ++i) t->set(i, 1);
  program->bind("x", ones.data());
  program->bind("w", filters.data());
  program->run(0);
  const Tensor y = program->output("y");
  const auto inside = [](int64_t at) { return at == 0 || at == 4 ? 2 : 3; };
  for (int64_t i = 0; i < y.elements(); ++i) {
    const int64_t row = i / (5 * 8) % 5, column = i / 8 % 5;
    REQUIRE(y.at(i) == 4.0 * double(inside(row) * inside(column)));
  }
  CHECK_THROWS_AS(compile_program(graph, variables, {.gpu = true, .gpu_index = 99}), Error);
}

TEST_CASE("products, large by cuBLASLt and small by a kernel of ours, with bias and relu") {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (int64_t inner : {1, 40, 300, 12000})
      for (int transposed = 0; transposed < 4; ++transposed)
        for (int epilogue = 0; epilogue < 3; ++epilogue) {
          INFO(std::string(name_of(dtype))
               << ", inner size " << inner << ", transposed " << transposed << ", epilogue " << epilogue);
          const bool ta = transposed & 1, tb = transposed & 2;
          const int64_t rows = 65, columns = 34;
          Graph graph;
          Expr a(graph, graph.input("a", dtype, ta ? Shape{inner, rows} : Shape{rows, inner}));
          Expr b(graph, graph.input("b", dtype, tb ? Shape{columns, inner} : Shape{inner, columns}));
          Expr y(graph, matmul(graph, a, b, ta, tb));
          if (epilogue > 0) y = y + Expr(graph, graph.variable("bias", dtype, {columns}));
          if (epilogue > 1) y = apply("relu", y);
          graph.output("y", y);
          Tensor left(dtype, {rows, inner}), right(dtype, {inner, columns});
          for (int64_t i = 0; i < left.elements(); ++i) left.set(i, double(i * 37 % 101) / 64 - 0.75);
          for (int64_t i = 0; i < right.elements(); ++i) right.set(i, double(i * 53 % 97) / 64 - 0.75);
          Variables on_plain, on_gpu;
          const auto plain = compile_for_cpu(graph, on_plain, {.plain = true});
          const auto gpu = compile_program(graph, on_gpu, kGpu);
          CHECK(gpu->implementations() == std::vector<std::string>{inner == 12000 ? "cublaslt" : "own"});
          for (Variables* variables : {&on_plain, &on_gpu})
            for (int64_t k = 0; epilogue > 0 && k < columns; ++k) variables->at("bias").set(k, double(k) / 4 - 4);
          on_gpu.to_device();
          for (Program* program : {plain.get(), gpu.get()}) {
            program->bind("a", left.data());
            program->bind("b", right.data());
            program->run(0);
          }
          // Terms are below 0.7 in size; product, bias and relu may each have been rounded to storage.
          const Tensor got = gpu->output("y"), expected = plain->output("y");
          std::vector<double> allowed;
          for (int64_t k = 0; k < got.elements(); ++k)
            allowed.push_back(0.7 * double(inner * inner) * unit_roundoff(compute_type(dtype)) +
                              4 * unit_roundoff(dtype) * (std::abs(expected.at(k)) + 4));
          CHECK(difference(got, expected, allowed) == "");
        }
}

TEST_CASE("large arrays: packed loads, rows in registers, columns shared by blocks", "[parts]") {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const WideCase& c : part_of(wide_cases(dtype))) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Graph graph;
      build_wide(graph, c);
      std::vector<Tensor> data;
      for (const WideInput& input : c.inputs) data.push_back(wide_data(input, c.inputs[0].shape[0]));
      Variables on_plain, on_gpu;
      const auto plain = compile_for_cpu(graph, on_plain, {.plain = true});
      const auto gpu = compile_program(graph, on_gpu, kGpu);
      for (int run = 0; run < 2; ++run)  // the second finds tickets as the first left them
        for (Program* program : {plain.get(), gpu.get()}) {
          for (size_t i = 0; i < data.size(); ++i) program->bind(c.inputs[i].name, data[i].data());
          program->run(0);
        }
      for (const auto& [name, value] : graph.outputs()) {
        const Tensor got = gpu->output(name), expected = plain->output(name);
        std::vector<double> allowed;
        for (int64_t k = 0; k < got.elements(); ++k)
          allowed.push_back(8 * unit_roundoff(dtype) * (std::abs(expected.at(k)) + 4) +
                            4 * double(c.length) * std::sqrt(double(c.length)) * unit_roundoff(DType::f32));
        CHECK(difference(got, expected, allowed) == "");
      }
    }
}

TEST_CASE("batch norm's statistics of numbers far from 0, equal, or far from the first, on the GPU") {
  CHECK(difference_of_statistics(kGpu) == "");
}

TEST_CASE("batch norm and its gradients of numbers near 5000 are as exact as near 0, on the GPU") {
  CHECK(difference_of_gradients(kGpu) == "");
}

TEST_CASE("sums over a whole array of many rounds of blocks miss nothing, the last elements neither") {
  const int64_t size = GENERATE(int64_t(5'000'003), int64_t(20'971'528), int64_t(9'000'008));
  for (DType dtype : {DType::f32, DType::f16}) {
    INFO(size << " numbers in " << std::string(name_of(dtype)));
    Graph graph;
    Expr x(graph, graph.input("x", dtype, {size}));
    graph.output("broken", reshape(sum(1.0 - apply("is_finite", cast(x, DType::f32)), {0}), {1}));
    graph.output("even", reshape(sum(cast(x, DType::f32), {0}), {1}));
    Tensor data(dtype, {size});
    double even = 0;
    for (int64_t i = 0; i < size; i += 1000) data.set(i, double(i / 1000 % 3 - 1)), even += double(i / 1000 % 3 - 1);
    for (int64_t at : {int64_t(0), size / 2 + 1, size - 1}) {
      const double before = data.at(at);
      Variables variables;
      const auto program = compile_program(graph, variables, kGpu);
      program->bind("x", data.data());
      program->run(0);
      CHECK(program->output("even").at(0) == even);
      CHECK(program->output("broken").at(0) == 0);
      data.set(at, std::numeric_limits<double>::infinity());
      program->bind("x", data.data());
      program->run(0);
      CHECK(program->output("broken").at(0) == 1);
      data.set(at, before);
    }
  }
}
TEST_CASE("gradients of many filters are products in TF32, near those in f32") {
  Graph graph;
  const std::vector<int64_t> ones = {1, 1}, padding = {1, 0, 1, 1}, size = {3, 3};
  const Shape image{8, 25, 24, 128}, maps{8, 24, 24, 384};
  const Value x = graph.input("x", DType::f32, image), g = graph.input("g", DType::f32, maps);
  graph.output(
      "dw",
      graph.add(
          "convolution_weight_gradient", {x, g},
          {{"strides", ones}, {"padding", padding}, {"dilation", ones}, {"groups", int64_t(1)}, {"sizes", size}}));
  std::vector<Tensor> inputs;
  for (const Shape& shape : {image, maps})
    inputs.push_back(case_data({"numbers", shape.to_string(), {{shape}}}, 0, DType::f32, DType::f32));
  const auto run = [&](bool tf32, bool& multiplied) {
    DeviceOptions options = kGpu;
    options.tf32 = tf32;
    Variables variables;
    const auto program = compile_program(graph, variables, options);
    program->bind("x", inputs[0].data());
    program->bind("g", inputs[1].data());
    program->run(0);
    multiplied = std::ranges::count(program->implementations(), "cublaslt") == 1;
    return program->output("dw").clone();
  };
  bool in_tf32 = false, in_f32 = true;
  const Tensor got = run(true, in_tf32), expected = run(false, in_f32);
  CHECK(in_tf32);
  CHECK_FALSE(in_f32);
  // Operands of 10 bits of mantissa, each off by up to 2^-11 of itself and in turns; numbers are below 2.
  const double allowed = 6 * std::sqrt(8.0 * 24 * 24) * 2 * 2 * 2 * std::ldexp(1, -11);
  CHECK(difference(got, expected, allowed) == "");
  CHECK(difference(got, expected, 0) != "");
}
