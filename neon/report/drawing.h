// A frame with two axes in which curves are drawn with letters.
#pragma once
#include <string>
#include <vector>

namespace neon {

class Drawing {
 public:
  static constexpr int kMargin = 12;  // letters before the first column

  // The value axis goes from `low` at the bottom to `high` at the top; where both are one number, it lies in the
  // middle.
  Drawing(int columns, double low, double high);

  // Marks the values between both in a column. They must lie in the axis' range.
  void mark(int column, double least, double largest, char sign);

  // The rows from the top, the other axis, and below it what stands at its ends.
  std::vector<std::string> lines(const std::string& first, const std::string& last) const;

 private:
  int row_of(double value) const;  // 0 at the bottom

  const int columns_;
  const double low_, high_;
  std::vector<std::string> rows_;  // from the bottom
};

}  // namespace neon
