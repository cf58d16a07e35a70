// An order of samples in which all classes come as often.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace neon {

// As many places as there are labels, for the samples of an epoch: each class that has samples gets floor(n / classes)
// places or one more, drawn by seed and epoch. A class goes through all its samples before one of them comes again.
std::vector<int32_t> balanced_order(std::span<const int32_t> labels, uint64_t seed, int64_t epoch);

}  // namespace neon
