#include "neon/cli/fault_search.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace neon {

namespace {

constexpr const char* kFault = "NEON_GPU_FAULT";  // in the environment: what had failed
constexpr const char* kSeed = "NEON_GPU_FAULT_SEED";

}  // namespace

std::string fault_searched_for() {
  const char* message = std::getenv(kFault);
  return message ? message : "";
}

std::optional<uint64_t> seed_of_fault() {
  const char* given = std::getenv(kSeed);
  if (fault_searched_for().empty() || !given) return {};
  uint64_t seed = 0;
  const char* const end = given + std::strlen(given);
  const auto [last, error] = std::from_chars(given, end, seed);
  if (error != std::errc() || last != end || given == end)
    fail(ErrorKind::config, kSeed, " is ", in_quotes(given), ", no seed; neon sets it, so leave it out");
  return seed;
}

void search_for_fault(const RunFault& fault, const CommandLine& line, char** argv) {
  const std::string seed = std::to_string(fault.seed());
  const std::string steps = line.verb == "resume"
                                ? text(kStepsOfSearch, " steps from where ", line.operands.front(), " stands")
                                : text("the first ", kStepsOfSearch, " steps again, with seed ", seed);
  std::fprintf(stderr, "a kernel has failed; looking for it: %s, one kernel after the other\n", steps.c_str());
  std::fflush(nullptr);
  setenv(kWaitForKernels, "1", 1);
  setenv(kFault, fault.message().c_str(), 1);
  setenv(kSeed, seed.c_str(), 1);
  execv("/proc/self/exe", argv);
  unsetenv(kFault);
  unsetenv(kSeed);
}

}  // namespace neon
