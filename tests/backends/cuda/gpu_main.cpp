// The GPU suites' own main: where there is no GPU everything is skipped, counted and said.
#include "backends/device/device.h"
#include "tests/run_cases.h"

int main(int argc, char** argv) {
  std::string why_not;
  const bool there = neon::gpu_module(why_not) != nullptr;
  return run_or_skip_cases(argc, argv, there ? "" : "no GPU: " + why_not);
}
