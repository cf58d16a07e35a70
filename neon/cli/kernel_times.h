// The time of a step by kernel and layer.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "neon/cli/kernel_work.h"
#include "neon/train/step_runner.h"

namespace neon {

struct TimedKernel {
  double milliseconds = 0;  // median; on a GPU until the next kernel begins
  KernelWork work;
  std::string implementation, what, layer;
  bool once = false;  // it only follows a change of the variables by others: no step has it
};
// A program's kernels in order, each timed over so many steps. `step` runs the program and returns the milliseconds of
// each kernel.
std::vector<TimedKernel> time_kernels(const Program& program, int64_t steps,
                                      const std::function<std::vector<double>()>& step);
std::vector<TimedKernel> time_kernels(StepRunner& runner, int64_t steps);

// Two tables, the slowest first: layers, then kernels. Each line has milliseconds, their share of the step, GFLOP/s,
// GB/s, and the share of the ceiling.
std::string kernel_tables(const std::vector<TimedKernel>& kernels, const Ceiling& ceiling);

// The first bytes of every profile.
inline constexpr std::string_view kTraceBegin = "{\n \"otherData\": {\n  \"by\": \"neon bench\"\n }";

// The same as Chrome's trace events, one kernel behind the other: chrome://tracing and Perfetto show them.
std::string chrome_trace(const std::vector<TimedKernel>& kernels, const Ceiling& ceiling);

}  // namespace neon
