// Cases of the ops that fold axes: sums and their like, batch norm, softmax, and the gradients of those.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> reduction_cases(const std::string& op);
std::vector<OpCase> batch_norm_cases(bool gradient);
std::vector<OpCase> normalize_cases(const std::string& op);
std::vector<OpCase> group_norm_cases(const std::string& op);
std::vector<OpCase> softmax_cases(const std::string& op);

}  // namespace neon::test
