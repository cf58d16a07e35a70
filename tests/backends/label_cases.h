// Cases of ctc, ctc_grad and edit_distance.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> ctc_cases(const std::string& op);
std::vector<OpCase> edit_distance_cases();

}  // namespace neon::test
