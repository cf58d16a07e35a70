// neon doctor: what neon found on this machine, and why a GPU is not used; a short test of the GPU against the CPU.
#include <cmath>
#include <cstdio>

#include "backends/device/device.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "neon/cli/verbs.h"
#include "neon/core/paths.h"
#include "neon/core/threads.h"
#include "neon/core/version.h"

namespace neon {

namespace {

void line(const char* what, const std::string& found) { std::printf("%-16s %s\n", what, found.c_str()); }

// A product with bias and a softmax with its mean, of the same numbers.
double result_on(const DeviceOptions& device) {
  Graph graph;
  Expr x(graph, graph.input("x", DType::f32, {32, 48})), w(graph, graph.input("w", DType::f32, {48, 16}));
  Expr y(graph, graph.add("softmax", {Expr(graph, matmul(graph, x, w, false, false))}));
  graph.output("y", mean(square(y), {0, 1}));
  Variables variables;
  const auto program = compile_program(graph, variables, device);
  std::vector<float> left(32 * 48), right(48 * 16);
  for (size_t i = 0; i < left.size(); ++i) left[i] = float(i * 37 % 101) / 50 - 1;
  for (size_t i = 0; i < right.size(); ++i) right[i] = float(i * 53 % 97) / 50 - 1;
  program->bind("x", left.data());
  program->bind("w", right.data());
  program->run(0);
  return program->recorded("y");
}

// Returns whether a GPU gives the CPU's results.
bool test_gpu(int index) {
  try {
    const double cpu = result_on({}), gpu = result_on({.gpu = true, .gpu_index = index});
    const bool same = std::abs(gpu - cpu) <= 1e-5 * std::abs(cpu);
    line("", text("self-test: ", same ? "agrees with the CPU"
                                      : text("gives ", gpu, ", the CPU ", cpu, ": this GPU computes wrongly")));
    return same;
  } catch (const Error& error) {
    line("", text("self-test: ", error.what()));
    return false;
  }
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
  line("neon", std::string(version()));
  line("threads", std::to_string(available_threads()));
  line("instructions", text("x86-64-", elementwise::active_level().name));
  line("cache", cache_folder());
  std::string why_not;
  GpuModule* module = gpu_module(why_not);
  if (!module) {
    line("GPU", "not used: " + why_not);
    return 0;
  }
  line("CUDA", module->versions());
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
