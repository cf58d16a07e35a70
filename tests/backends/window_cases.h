// Cases of the ops whose windows step over an array: convolution, pooling and their gradients; and of regions and
// blocks of pixels.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> convolution_cases(const std::string& op);
// Of neon 1's own tests in their sizes, each op: too large for every suite. They have 64 samples of the largest image.
std::vector<OpCase> large_convolution_cases(int64_t samples = 64);
std::vector<OpCase> pooling_cases(const std::string& op);
std::vector<OpCase> region_cases(const std::string& op);
std::vector<OpCase> columns_cases(const std::string& op);  // of columns and patches
std::vector<OpCase> depth_to_space_cases();

}  // namespace neon::test
