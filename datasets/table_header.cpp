#include "datasets/table_header.h"

#include <algorithm>

#include "neon/core/text.h"

namespace neon {

FirstLine first_line_by_cells(const std::vector<CsvCell>& cells, const std::vector<bool>& counts,
                              const MissingMarks& missing, char decimal) {
  bool texts = false, numbers = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!counts[i]) continue;
    const CellKind kind = kind_of(cells[i].text, missing, decimal);
    texts = texts || kind == CellKind::text;
    numbers = numbers || kind == CellKind::number;
  }
  if (!texts) return FirstLine::sample;
  return numbers ? FirstLine::unclear : FirstLine::header;
}

bool are_column_numbers(const std::vector<CsvCell>& cells) {
  constexpr double kFirstYear = 1800, kLastYear = 2200;
  double first = 0, value = 0;
  if (cells.size() < 3 || !parse_number(cells[0].text, first)) return false;
  if (first != 0 && first != 1 && !(first >= kFirstYear && first <= kLastYear)) return false;
  for (size_t i = 0; i < cells.size(); ++i)
    if (!parse_number(cells[i].text, value) || value != first + double(i)) return false;
  return true;
}

bool are_in_order(const std::vector<CsvCell>& cells, const std::vector<bool>& counts, char decimal) {
  double before = 0, value = 0;
  bool rises = true, falls = true, first = true;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!counts[i] || !parse_number(cells[i].text, value, decimal)) continue;
    if (value < 0) return false;
    rises = rises && (first || value > before);
    falls = falls && (first || value < before);
    before = value;
    first = false;
  }
  return rises || falls;
}

std::string unclear_header(std::string_view reason) {
  return text("this line may name the columns or be a sample: ", reason, "; say header: true or header: false");
}

}  // namespace neon
