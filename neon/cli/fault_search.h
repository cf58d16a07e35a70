// Which kernel has failed on a GPU. The process in which it did can ask nothing of the GPU any more, and waiting for
// every kernel, which tells it, takes too long to be done always. So the program starts anew with the same command, but
// waits for each kernel and writes nothing. A training has the same seed, since a fault may depend on weights and data,
// and ends after as many steps as the run had done, or after ten minutes; other verbs do all that they did.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "neon/cli/command_line.h"
#include "neon/train/trainer.h"

namespace neon {

constexpr int64_t kLeastSteps = 64;
constexpr double kSecondsOfSearch = 600;

// The kernel that had failed, where this process is such a search; else "".
std::string fault_searched_for();

// The seed of the run that it had failed in, and the steps to go through.
std::optional<uint64_t> seed_of_fault();
int64_t steps_to_search();

// Begin the search for the kernel that has failed, in a training and in any other verb; return where that is not
// possible.
void search_for_fault(const RunFault& fault, const CommandLine& line, char** argv);
void search_for_fault(const KernelFault& fault, const CommandLine& line, char** argv);

}  // namespace neon
