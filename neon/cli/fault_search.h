// Which kernel has failed on a GPU. The process in which it did can ask nothing of the GPU any more, and waiting for
// every kernel, which tells it, takes too long to be done always. So the program starts anew with the same command, but
// waits for each kernel, writes nothing, and ends after some steps, saying what it found.
#pragma once
#include <cstdint>
#include <string>

namespace neon {

constexpr int64_t kStepsOfSearch = 64;

// What had failed, where this process is such a search; else "".
std::string fault_searched_for();

// Begins the search for the kernel whose fault `message` tells of; returns where that is not possible.
void search_for_fault(const std::string& message, char** argv);

}  // namespace neon
