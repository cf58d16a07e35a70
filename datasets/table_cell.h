// The kinds of cells: one rule for every table (CSV, ImageList, predict).
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// The marks of a missing value in a table that says nothing else. Letter case does not matter.
inline std::vector<std::string> default_missing_marks() {
  return {"?", "-", ".", "NA", "N/A", "#N/A", "<NA>", "NaN", "-NaN", "null", "None"};
}

// The cells that hold no value: the empty cell, and cells that equal a mark, letter case ignored.
class MissingMarks {
 public:
  explicit MissingMarks(const std::vector<std::string>& marks = default_missing_marks());
  bool contains(std::string_view cell) const;

 private:
  std::vector<std::string> marks_;  // in small letters
  size_t longest_ = 0;
  std::array<bool, 256> begins_ = {};  // by small letter or other byte: whether a mark begins with it
};

enum class CellKind { missing, number, text };
CellKind kind_of(std::string_view cell, const MissingMarks& missing, char decimal = '.');

// A number as CSV writes it ("1.5", "-2e3", "+4"); infinite or 0 beyond the range of f64. False unless the whole cell
// is a number; NaN is not a number. Where the decimal character is a comma, "1,5" is a number and "1.5" none.
bool parse_number(std::string_view cell, double& out, char decimal = '.');

// The same for a number that is finite in f32.
bool parse_f32(std::string_view cell, double& out, char decimal = '.');

// Throws a config error where `test`, a data set's parameter, is a number but no share from 0 to below 1: otherwise it
// names a file.
void check_test_part(const std::string& test);

// The message for a cell that parse_f32 refuses: "expected a number, found 'red'" with `advice` for a text.
std::string no_f32_text(std::string_view cell, const MissingMarks& missing, std::string_view advice = "");

}  // namespace neon
