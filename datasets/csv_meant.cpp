#include "datasets/csv_meant.h"

#include <algorithm>
#include <map>
#include <set>

#include "datasets/csv.h"
#include "datasets/csv_dialect.h"
#include "datasets/meant_cells.h"
#include "datasets/meant_dates.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// Whether neon alone decided that the column has numbers.
std::vector<bool> chosen_columns(const CsvParams& params, const TableLayout& layout) {
  std::vector<bool> out = layout.feature;
  for (size_t i = 0; i < out.size(); ++i)
    if (!layout.kinds[i].kind.empty()) out[i] = false;
  for (size_t k = 0; k < layout.targets.size(); ++k)
    out[layout.targets[k]] = params.targets.empty() ? params.task != "classes" : params.targets[k].second == "number";
  return out;
}

}  // namespace

void SeenNumbers::add(std::string_view cell, size_t at, char decimal) {
  constexpr size_t kGroup = 3;
  double value = 0;
  if (!parse_number(cell, value, decimal)) return;
  if (may_be_grouped(cell, decimal)) {
    if (grouped.empty()) grouped = cell, place = at;
  } else if (cell.find_first_not_of("0123456789", cell[0] == '-' ? 1 : 0) != cell.npos) {
    certain = true;
  } else {
    (cell.size() - (cell[0] == '-' ? 1 : 0) <= kGroup ? small : certain) = true;
  }
}

std::string SeenNumbers::question(char decimal) const {
  std::string whole = grouped;
  std::erase(whole, decimal);
  return text(in_quotes(grouped), " may be ", whole,
              ", as its other numbers are whole and below 1000; write thousands without a mark");
}

void check_groups(const CsvParams& params, const Table& table, const TableLayout& layout) {
  constexpr int kRecords = 2000;
  if (params.decimal != "auto") return;
  const std::vector<bool> chosen = chosen_columns(params, layout);
  std::vector<SeenNumbers> seen(table.columns);
  try {
    CsvReader reader(table.file->head(), table.delimiter, table.path, table.rows_begin);
    std::vector<CsvCell> cells;
    for (int record = 0; record < kRecords && reader.next(cells) && cells.size() == table.columns; ++record)
      for (size_t i = 0; i < cells.size(); ++i)
        if (chosen[i]) seen[i].add(cells[i].text, cells[i].at, table.decimal);
  } catch (const Error&) {  // the head ends within a cell
  }
  for (size_t i = 0; i < seen.size(); ++i)
    if (seen[i].are_unclear())
      table.fail_at(seen[i].place, text(table.column_text(i), ": ", seen[i].question(table.decimal),
                                        ", or say decimal: ", table.decimal == ',' ? "comma" : "point"));
}

std::optional<MeantText> other_year(const ColumnTexts& texts, DateForm form) {
  const auto is_short = [&](const std::string& cell) { return parse_date(cell, form).short_year; };
  const auto first = std::ranges::find_if(texts.texts, is_short);
  const auto other = std::ranges::find_if_not(texts.texts, is_short);
  if (form != DateForm::year_first || first == texts.texts.end() || other == texts.texts.end()) return {};
  return MeantText{size_t(first - texts.texts.begin()), text(in_quotes(*first), " is a date of another form than ",
                                                             in_quotes(*other), "; write all alike, as 2024-05-31")};
}

std::optional<MeantText> number_with_unit(const ColumnTexts& texts) {
  constexpr size_t kLeastNumbers = 10;  // fewer may be categories, as 36 months and 60 months
  if (texts.texts.size() < kLeastNumbers) return {};
  std::map<std::string, int64_t> units;  // rows by unit
  int64_t all = 0;
  for (size_t k = 0; k < texts.texts.size(); ++k) {
    all += texts.rows[k];
    if (const std::string unit = unit_of(texts.texts[k]); !unit.empty()) units[unit] += texts.rows[k];
  }
  for (const auto& [unit, rows] : units) {
    if (2 * rows <= all) continue;
    const auto k = size_t(std::ranges::find(texts.texts, unit, unit_of) - texts.texts.begin());
    return MeantText{k, advice_for_unit(texts.texts[k], unit)};
  }
  return {};
}

std::string code_with_zeros(const std::vector<std::vector<std::string>>& rows, size_t column) {
  for (const auto& cells : rows) {
    if (column >= cells.size()) continue;
    const std::string& cell = cells[column];
    if (cell.size() >= 2 && cell[0] == '0' && cell.find_first_not_of("0123456789") == cell.npos) return cell;
  }
  return "";
}

std::string day_without_marks(const std::vector<std::vector<std::string>>& rows, size_t column) {
  constexpr size_t kSeveral = 3;
  std::string first;
  std::set<std::string> days;
  for (const auto& cells : rows) {
    if (column >= cells.size() || cells[column].empty()) continue;
    if (!is_day_without_marks(cells[column])) return "";
    if (first.empty()) first = cells[column];
    days.insert(cells[column]);
  }
  return days.size() < kSeveral ? "" : first;
}

bool has_row_numbers(const Table& table, size_t place) {
  constexpr size_t kLeastRows = 20;
  const auto features = table.features.as<float>();
  const auto width = size_t(table.features.shape()[1]);
  const size_t rows = features.size() / width;
  const float first = features[place];
  if (rows < kLeastRows || (first != 0 && first != 1)) return false;
  for (size_t row = 0; row < rows; ++row)
    if (features[row * width + place] != first + float(row)) return false;
  return true;
}

}  // namespace neon
