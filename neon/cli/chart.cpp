#include "neon/cli/chart.h"

#include <algorithm>

#include "neon/core/text.h"
#include "neon/report/drawing.h"

namespace neon {

namespace {

constexpr int kColumns = 60;

// The values of a column, from the least to the largest, and those up to the next column, so that lines are closed.
std::pair<double, double> range_of_column(std::span<const double> values, int column) {
  const auto place = [&](int k) { return size_t(double(k) * double(values.size() - 1) / kColumns); };
  const auto [least, largest] =
      std::ranges::minmax(values.subspan(place(column), place(column + 1) - place(column) + 1));
  return {least, largest};
}

}  // namespace

std::vector<std::string> chart_lines(std::span<const double> values, double last, const std::string& what) {
  const auto [least, largest] = std::ranges::minmax(values);
  const double low = std::min(0.0, least);
  Drawing drawing(kColumns, low, largest > low ? largest : low + 1);
  for (int column = 0; column < kColumns; ++column) {
    const auto [from, to] = range_of_column(values, column);
    drawing.mark(column, from, to, '*');
  }
  return drawing.lines("0", text(number(last), " ", what));
}

}  // namespace neon
