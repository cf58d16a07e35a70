// Cases of the ops that put elements somewhere else: rows that are looked up, other shapes and orders, parts, parts
// together, places and boxes of images.
#pragma once
#include "tests/backends/op_cases.h"

namespace neon::test {

std::vector<OpCase> gather_cases();
std::vector<OpCase> scatter_add_cases();
std::vector<OpCase> reshape_cases();
std::vector<OpCase> scale_gradient_cases();
std::vector<OpCase> stop_gradient_cases();
std::vector<OpCase> exchange_cases();
std::vector<OpCase> rank_row_cases(const std::string& op);
std::vector<OpCase> transpose_cases();
std::vector<OpCase> slice_cases();
std::vector<OpCase> split_cases();
std::vector<OpCase> broadcast_cases();
std::vector<OpCase> concat_cases();
std::vector<OpCase> crop_cases();
std::vector<OpCase> resample_cases();

}  // namespace neon::test
