// How a column of a table becomes numbers of a sample.
//
//   number    the number, brought to mean 0 and deviation 1
//   category  a number for each category: 1 for the one that the cell names, 0 for the others
//   boolean   0 or 1
//   date      days, brought to mean 0 and deviation 1; sine and cosine of the place in the year and in the week, and in
//             the day where the column has times
//
// If training rows lack values, one more number is 1 for a missing value and 0 otherwise.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/table_date.h"

namespace neon {

enum class ColumnKind : uint8_t { number, category, boolean, date };
constexpr std::string_view name_of(ColumnKind kind) {
  constexpr std::string_view kNames[] = {"number", "category", "boolean", "date"};
  return kNames[size_t(kind)];
}

struct ColumnCode {
  ColumnKind kind = ColumnKind::number;
  double mean = 0, deviation = 1;       // of a number, or of a date's days
  double fill = 0;                      // stands for a missing number, boolean or day
  bool indicator = false;               // one more number says whether the value is missing
  std::vector<std::string> categories;  // in the order of their numbers
  DateForm form = DateForm::year_first;
  bool timed = false;       // dates have times
  bool short_years = true;  // dates that begin with a year may have one of two digits
  bool operator==(const ColumnCode&) const = default;

  int64_t width() const;
  // Writes width() numbers. NaN is a missing number.
  void put_number(double value, float* to) const;
  void put_missing(float* to) const;
  // The same of a cell that is not missing. False: the cell is a category that no training row has, which becomes
  // zeros, or a text that is no boolean or no date, or one whose form was not trained.
  bool put_text(std::string_view cell, float* to) const;
  // "number, mean 35.2, deviation 10.1", "3 categories (blue, green, red)"
  std::string description() const;
};

int64_t width_of(const std::vector<ColumnCode>& codes);

// 0 or 1 of "true", "yes", "on", "t", "y", "1" and their opposites, in any letter case; -1 of other texts.
int boolean_of(std::string_view cell);
// How to mend such texts where a target should be a number.
constexpr const char* kBooleanTarget = "; write 1 and 0, or say task: classes";

}  // namespace neon
