#include "neon/report/drawing.h"

#include <algorithm>
#include <cmath>

#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int kHeight = 13;  // a row in the middle has a label, too

}  // namespace

Drawing::Drawing(int columns, double low, double high)
    : columns_(columns), low_(low), high_(high), rows_(kHeight, std::string(size_t(columns), ' ')) {}

int Drawing::row_of(double value) const {
  const double share = high_ > low_ ? (value - low_) / (high_ - low_) : 0.5;
  return int(std::lround(share * (kHeight - 1)));
}

void Drawing::mark(int column, double least, double largest, char sign) {
  for (int row = row_of(least); row <= row_of(largest); ++row) rows_[size_t(row)][size_t(column)] = sign;
}

std::vector<std::string> Drawing::lines(const std::string& first, const std::string& last) const {
  std::vector<std::string> out;
  for (int row = kHeight - 1; row >= 0; --row) {
    const bool is_tick = row % ((kHeight - 1) / 2) == 0, labelled = high_ > low_ ? is_tick : row == (kHeight - 1) / 2;
    const double value = low_ + (high_ - low_) * row / (kHeight - 1);
    std::string line = rows_[size_t(row)];
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(formatted("%*s |", kMargin - 2, labelled ? formatted("%.4g", value).c_str() : "") + line);
  }
  out.push_back(std::string(kMargin - 1, ' ') + '+' + std::string(size_t(columns_), '-'));
  const int room = std::max(columns_ - int(first.size()), 0);
  out.push_back(std::string(kMargin, ' ') + first + formatted("%*s", room, last.c_str()));
  return out;
}

}  // namespace neon
