// Cases of largest and nms.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> largest_cases();
std::vector<OpCase> nms_cases();

}  // namespace neon::test
