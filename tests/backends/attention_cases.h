// Cases of attention and of rotary positions, and of their gradients.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> attention_cases(const std::string& op);
// Those that a library of a GPU may do.
std::vector<OpCase> tiled_attention_cases(const std::string& op);
std::vector<OpCase> rotary_cases(const std::string& op);

}  // namespace neon::test
