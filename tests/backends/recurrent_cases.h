// Cases of the recurrent cells and their gradients.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

// Of "recurrent", "lstm", "gru", and these with "_grad".
std::vector<OpCase> recurrent_cases(const std::string& op);

}  // namespace neon::test
