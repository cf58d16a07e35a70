#include "neon/cli/fault_search.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr const char* kFault = "NEON_GPU_FAULT";  // in the environment: what had failed
constexpr const char* kSeed = "NEON_GPU_FAULT_SEED";
constexpr const char* kSteps = "NEON_GPU_FAULT_STEPS";

template <typename T>
std::optional<T> number_from(const char* name, const char* what) {
  const char* given = std::getenv(name);
  if (fault_searched_for().empty() || !given) return {};
  T number = 0;
  const char* const end = given + std::strlen(given);
  const auto [last, error] = std::from_chars(given, end, number);
  if (error != std::errc() || last != end || given == end)
    fail(ErrorKind::config, name, " is ", in_quotes(given), ", no ", what, "; neon sets it, so leave it out");
  return number;
}

// Only returns where the program cannot be started.
void start_anew(const KernelFault& fault, const std::string& what, char** argv) {
  print_message(text("a kernel has failed; looking for it: ", what, ", one kernel after the other"));
  std::fflush(nullptr);
  setenv(kWaitForKernels, "1", 1);
  setenv(kFault, fault.message().c_str(), 1);
  execv("/proc/self/exe", argv);
  unsetenv(kFault);
}

}  // namespace

std::string fault_searched_for() {
  const char* message = std::getenv(kFault);
  return message ? message : "";
}

std::optional<uint64_t> seed_of_fault() { return number_from<uint64_t>(kSeed, "seed"); }

int64_t steps_to_search() { return number_from<int64_t>(kSteps, "number of steps").value_or(kLeastSteps); }

void search_for_fault(const RunFault& fault, const CommandLine& line, char** argv) {
  if (!can_run_again(line)) return;
  const std::string seed = std::to_string(fault.seed());
  const int64_t count = std::max(fault.steps(), kLeastSteps);
  const std::string steps = line.verb == "resume" ? text(count, " steps from where ", line.operands.front(), " stands")
                                                  : text("the first ", count, " steps again, with seed ", seed);
  setenv(kSeed, seed.c_str(), 1);
  setenv(kSteps, std::to_string(count).c_str(), 1);
  start_anew(fault, steps, argv);
  unsetenv(kSeed);
  unsetenv(kSteps);
}

void search_for_fault(const KernelFault& fault, const CommandLine& line, char** argv) {
  if (!can_run_again(line)) return;
  // Results are not printed twice.
  if (!discard_results()) return;
  start_anew(fault, "the same again", argv);
}

}  // namespace neon
