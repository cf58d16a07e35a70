// Columns of a table whose numbers may be meant otherwise than neon reads them.
#pragma once
#include <optional>
#include <string>

#include "datasets/csv_table.h"
#include "datasets/table_date.h"

namespace neon {

// The cells of a column so far, whose numbers may all be whole, with a mark between groups of three digits.
struct SeenNumbers {
  std::string grouped;
  size_t place = 0;                     // of that cell in the file
  bool small = false, certain = false;  // some are whole and below 1000; some show that marks are decimal
  void add(std::string_view cell, size_t at, char decimal);
  bool are_unclear() const { return !grouped.empty() && small && !certain; }
  // "'3.518' may be 3518, as ...; write thousands without a mark"
  std::string question(char decimal) const;
};

// Throws a data error where all numbers of a column that have a mark may be whole numbers in groups of three, as 3.518
// beside 366. The option decimal, or a kind of the column, decides.
void check_groups(const CsvParams& params, const Table& table, const TableLayout& layout);

// A text of a column that is refused, and why.
struct MeantText {
  size_t text = 0;
  std::string message;
};
// A date with a year of two digits in front, beside others with four.
std::optional<MeantText> other_year(const ColumnTexts& texts, DateForm form);
// A number with a unit, as 21 kg, or a duration, where most texts have that unit: each would be a category, or an
// identifier.
std::optional<MeantText> number_with_unit(const ColumnTexts& texts);

// A number with zeros before it, as 01234, of a column of the first rows; else "".
std::string code_with_zeros(const std::vector<std::vector<std::string>>& rows, size_t column);
// "20240531", where a column of the first rows has such days alone, and several; else "".
std::string day_without_marks(const std::vector<std::vector<std::string>>& rows, size_t column);

// Whether a column has the numbers of its rows: 0 to n - 1, or 1 to n, in this order.
bool has_row_numbers(const Table& table, size_t place);

}  // namespace neon
