// Cases of the ops whose windows step over an array: convolution, pooling and their gradients.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> convolution_cases(const std::string& op);
std::vector<OpCase> pooling_cases(const std::string& op);

}  // namespace neon::test
