// neon doctor: what neon found on this machine, CUDA's libraries too, and why a GPU is not used; a short test of the
// GPU against the CPU.
#include <cmath>
#include <cstdio>
#include <numeric>

#include "backends/device/cuda_libraries.h"
#include "backends/device/device.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "backends/graph/windows.h"
#include "neon/cli/verbs.h"
#include "neon/core/paths.h"
#include "neon/core/threads.h"
#include "neon/core/version.h"

namespace neon {

namespace {

void line(const char* what, const std::string& found) { std::printf("%-16s %s\n", what, found.c_str()); }

struct SelfTest {
  const char* what;
  Shape left, right;
  Expr (*result)(Expr left, Expr right);
};

// Sizes that kernels of neon's own take, and such as are left to CUDA's libraries.
const SelfTest kSelfTests[] = {
    {"a small product and a softmax",
     {32, 48},
     {48, 16},
     [](Expr x, Expr w) { return Expr(x.graph(), x.graph().add("softmax", {matmul(x.graph(), x, w)})); }},
    {"a matrix product",
     {512, 768},
     {768, 256},
     [](Expr x, Expr w) { return Expr(x.graph(), matmul(x.graph(), x, w)); }},
    {"a convolution",
     {8, 16, 16, 16},
     {32, 3, 3, 16},
     [](Expr x, Expr w) {
       const Windows windows{.size = {3, 3}, .strides = {1, 1}, .before = {1, 1}, .after = {1, 1}, .dilation = {1, 1}};
       return Expr(x.graph(), convolution(x.graph(), x, w, windows, 1));
     }},
};

std::vector<float> numbers(const Shape& shape, size_t factor) {
  std::vector<float> out(size_t(shape.elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = float(i * factor % 101) / 50 - 1;
  return out;
}

// The mean square of the result, and which implementations computed it.
double result_of(const SelfTest& test, const DeviceOptions& device, std::string& implementations) {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, test.left)), w(graph, graph.input("w", DType::f32, test.right));
  const Expr y = square(test.result(x, w));
  std::vector<int64_t> axes(size_t(y.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  graph.output("y", mean(y, axes));
  Variables variables;
  const auto program = compile_program(graph, variables, device);
  implementations = join(program->implementations(), ", ");
  const std::vector<float> left = numbers(test.left, 37), right = numbers(test.right, 53);
  program->bind("x", left.data());
  program->bind("w", right.data());
  program->run(0);
  return program->recorded("y");
}

// Returns whether a GPU gives the CPU's results.
bool test_gpu(int index) {
  bool good = true;
  for (const SelfTest& test : kSelfTests) {
    const std::string head = text("self-test of ", test.what);
    try {
      std::string implementations;
      const double cpu = result_of(test, {}, implementations);
      const double gpu = result_of(test, {.gpu = true, .gpu_index = index, .name = head}, implementations);
      const bool same = std::abs(gpu - cpu) <= 1e-5 * std::abs(cpu);
      line("",
           text(head, " (", implementations, "): ",
                same ? "agrees with the CPU" : text("gives ", gpu, ", the CPU ", cpu, ": this GPU computes wrongly")));
      good = good && same;
    } catch (const Error& error) {
      line("", text(head, ": ", error.what()));
      good = false;
    }
  }
  return good;
}

std::string cache_folder() {
  try {
    return cache_dir();
  } catch (const Error& error) {
    return text("none: ", error.what());
  }
}

}  // namespace

int run_doctor(const CommandLine& command) {
  if (!command.operands.empty())
    fail(ErrorKind::config, in_quotes(command.operands.front()), " is one operand too many; usage: neon doctor");
  line("neon", text(version(), cuda_version().empty() ? "" : ", built with CUDA " + cuda_version()));
  line("threads", std::to_string(available_threads()));
  line("instructions", text("x86-64-", elementwise::active_level().name));
  line("cache", cache_folder());
  for (const FoundLibrary& found : find_cuda_libraries())
    line(found.name.c_str(), found.problem.empty() ? text(found.version, ", ", found.path) : found.problem);
  std::string why_not;
  GpuModule* module = gpu_module(why_not);
  if (!module) {
    line("GPU", "not used: " + why_not);
    return 0;
  }
  line("driver", module->driver_version());
  const auto devices = module->devices();
  bool good = true;
  for (size_t i = 0; i < devices.size(); ++i) {
    const GpuInfo& gpu = devices[i];
    line(text("GPU ", i).c_str(),
         text(gpu.name, ", compute capability ", gpu.arch / 10, ".", gpu.arch % 10, ", ", bytes_text(double(gpu.bytes)),
              gpu.unusable.empty() ? "" : "; not used: " + gpu.unusable));
    if (gpu.unusable.empty()) good = test_gpu(int(i)) && good;
  }
  return good ? 0 : exit_code(ErrorKind::device);
}

}  // namespace neon
