// How a column of a table becomes numbers of a sample.
//
//   number    the number, brought to mean 0 and deviation 1
//   category  a number for each category: 1 for the one that the cell names, 0 for the others; an embedded
//             column is one whole number, the row of a trained table that stands for the category
//   boolean   0 or 1
//   date      days, brought to mean 0 and deviation 1; sine and cosine of the place in the year and in the week, and in
//             the day where the column has times
//
// If training rows lack values, one more number is 1 for a missing value and 0 otherwise. Row 0 of a table stands for
// missing values, and for categories without a row of their own: those that are rare in training, or not there.
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
  bool indicator = false;               // training rows lack values
  std::vector<std::string> categories;  // in the order of their numbers
  DateForm form = DateForm::year_first;
  bool timed = false;       // dates have times
  bool short_years = true;  // dates that begin with a year may have one of two digits
  int64_t embedded = 0;     // numbers in a row of the table; 0: the column is not embedded
  bool operator==(const ColumnCode&) const = default;

  // Numbers of a sample.
  int64_t width() const {
    if (embedded > 0) return 1;
    const int64_t of_date = timed ? 7 : 5;
    const int64_t own = kind == ColumnKind::category ? int64_t(categories.size())
                        : kind == ColumnKind::date   ? of_date
                                                     : 1;
    return own + (indicator ? 1 : 0);
  }
  // The numbers that a net sees in their place.
  int64_t seen_width() const { return embedded > 0 ? embedded : width(); }
  // Rows of the table: category k has row k + 1.
  int64_t table_rows() const { return int64_t(categories.size()) + 1; }
  // Writes width() numbers. NaN is a missing number.
  void put_number(double value, float* to) const;
  void put_missing(float* to) const;
  // The same of a cell that is not missing. False: the cell is a category that no training row has, which becomes
  // zeros, or row 0, or a text that is no boolean or no date, or one whose form was not trained.
  bool put_text(std::string_view cell, float* to) const;
  // "number, mean 35.2, deviation 10.1", "3 categories (blue, green, red)"
  std::string description() const;
  // Why a category is as put_text() leaves it, behind the names of `count` of them and "is" or "are".
  std::string unknown_text(int64_t count) const;
};

int64_t width_of(const std::vector<ColumnCode>& codes);
int64_t seen_width_of(const std::vector<ColumnCode>& codes);
inline bool has_embedded(const std::vector<ColumnCode>& codes) {
  for (const ColumnCode& code : codes)
    if (code.embedded > 0) return true;
  return false;
}
// Numbers in a row of a table of so many rows: 1.6 rows^0.56, as fastai has it, at most 600.
int64_t embedding_width(int64_t rows);
constexpr int64_t kMostWidth = 65536;  // of a row of a table

// 0 or 1 of "true", "yes", "on", "t", "y", "1" and their opposites, in any letter case; -1 of other texts.
int boolean_of(std::string_view cell);
// How to mend such texts where a target should be a number.
constexpr const char* kBooleanTarget = "; write 1 and 0, or say task: classes";

}  // namespace neon
