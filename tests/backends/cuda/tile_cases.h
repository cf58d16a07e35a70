// Convolutions and their gradients that are made in tiles.
#pragma once
#include <vector>

#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> tile_cases();

}  // namespace neon::test
