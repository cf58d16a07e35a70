// A curve drawn with letters.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace neon {

// The lines of a chart, about 70 letters wide. `values` are at equal distances; each column covers some of them, from
// the least to the largest. The value axis begins at 0, or at the least value where that is negative. `last` is the
// last number on the other axis, which counts `what` from 0.
std::vector<std::string> chart_lines(std::span<const double> values, double last, const std::string& what);

}  // namespace neon
