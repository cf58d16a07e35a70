// The golden cases of layers, transforms and optimizers on a GPU: where there is none all are skipped, counted and
// said.
#include <algorithm>

#include "backends/device/device.h"
#include "tests/run_cases.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

char of_devices[] = "[device]";  // a tag

std::unique_ptr<Program> compiled_for_gpu(const Graph& graph, Variables& variables, const Arithmetic& arithmetic) {
  return compile_program(graph, variables, {.gpu = true, .program = arithmetic.options});
}

}  // namespace

int main(int argc, char** argv) {
  std::string why_not;
  const bool there = gpu_module(why_not) != nullptr;
  set_arithmetics(
      {{.name = "f64 on a GPU", .dtype = DType::f64, .gpu = true},
       {.name = "f32 on a GPU", .dtype = DType::f32, .gpu = true},
       {.name = "f32 on a GPU, a kernel each", .dtype = DType::f32, .options = {.fuse = false}, .gpu = true}},
      compiled_for_gpu);
  std::vector<char*> arguments(argv, argv + argc);
  if (std::all_of(arguments.begin() + 1, arguments.end(), [](const char* a) { return a[0] == '-'; }))
    arguments.push_back(of_devices);
  return run_or_skip_cases(int(arguments.size()), arguments.data(), there ? "" : "no GPU: " + why_not);
}
