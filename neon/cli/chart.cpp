#include "neon/cli/chart.h"

#include <algorithm>
#include <cmath>

#include "neon/core/text.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int kWidth = 60, kHeight = 13;

// The values of a column, from the least to the largest, and those up to the next column, so that lines are closed.
std::pair<double, double> range_of_column(std::span<const double> values, int column) {
  const auto place = [&](int k) { return size_t(double(k) * double(values.size() - 1) / kWidth); };
  const auto [least, largest] =
      std::ranges::minmax(values.subspan(place(column), place(column + 1) - place(column) + 1));
  return {least, largest};
}

}  // namespace

std::vector<std::string> chart_lines(std::span<const double> values, double last, const std::string& what) {
  const auto [least, largest] = std::ranges::minmax(values);
  const double low = std::min(0.0, least), high = largest > low ? largest : low + 1;
  const auto row_of = [&](double value) { return int(std::lround((value - low) / (high - low) * (kHeight - 1))); };
  std::vector<std::string> rows(kHeight, std::string(kWidth, ' '));
  for (int column = 0; column < kWidth; ++column) {
    const auto [from, to] = range_of_column(values, column);
    for (int row = row_of(from); row <= row_of(to); ++row) rows[size_t(row)][size_t(column)] = '*';
  }
  std::vector<std::string> out;
  for (int row = kHeight - 1; row >= 0; --row) {
    const bool labelled = row % ((kHeight - 1) / 2) == 0;
    const std::string label = labelled ? formatted("%.3g", low + (high - low) * row / (kHeight - 1)) : "";
    std::string& line = rows[size_t(row)];
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(formatted("%9s |", label.c_str()) + line);
  }
  out.push_back(std::string(10, ' ') + '+' + std::string(kWidth, '-'));
  const std::string end = text(number(last), " ", what);
  out.push_back(std::string(11, ' ') + "0" +
                std::string(size_t(kWidth) - 1 - std::min(end.size(), size_t(kWidth) - 1), ' ') + end);
  return out;
}

}  // namespace neon
