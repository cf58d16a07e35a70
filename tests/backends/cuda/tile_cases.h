// Convolutions and their gradients that are made in tiles.
#pragma once
#include <vector>

#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> tile_cases();
// Convolutions of four channels by windows that step by two along a row, and their gradients by the filters.
std::vector<OpCase> pairs_cases();

}  // namespace neon::test
