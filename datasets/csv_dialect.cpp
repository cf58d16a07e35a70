#include "datasets/csv_dialect.h"

#include <vector>

#include "datasets/csv.h"
#include "datasets/csv_columns.h"
#include "datasets/table_cell.h"
#include "neon/core/message.h"
#include "neon/core/text.h"

namespace neon {

bool may_be_grouped(std::string_view number, char mark) {
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  const size_t at = number.find(mark);
  const bool digits = number.find_first_not_of("0123456789.,") == number.npos;
  return digits && at >= 1 && at <= 3 && number[0] != '0' && number.size() == at + 4;
}

namespace {

// The first lines as a delimiter splits them.
struct SplitSample {
  size_t cells = 0;                                 // of each line; 0: lines differ, or cannot be split so
  size_t points = 0, commas = 0, other_commas = 0;  // cells that are numbers with each; other cells with a comma
  size_t clear_points = 0, clear_commas = 0;        // those among them that cannot be groups of three digits
};

constexpr int kLinesLookedAt = 100;

SplitSample split_sample(std::string_view content, char delimiter) try {
  SplitSample out;
  CsvReader reader(content, delimiter, "");
  std::vector<CsvCell> cells;
  for (int line = 0; line < kLinesLookedAt && reader.next(cells); ++line) {
    if (line > 0 && cells.size() != out.cells) return {};
    out.cells = cells.size();
    for (const CsvCell& cell : cells) {
      double value = 0;
      const bool comma = cell.text.find(',') != cell.text.npos;
      if (comma && parse_number(cell.text, value, ',')) {
        ++out.commas;
        if (!may_be_grouped(cell.text, ',')) ++out.clear_commas;
      } else if (comma) {
        ++out.other_commas;
      } else if (cell.text.find('.') != cell.text.npos && parse_number(cell.text, value)) {
        ++out.points;
        if (!may_be_grouped(cell.text, '.')) ++out.clear_points;
      }
    }
  }
  return out;
} catch (const Error&) {
  return {};
}

char find_delimiter(std::string_view content, const std::string& name) {
  const bool by_comma = split_sample(content, ',').cells > 1;
  for (const char other : {';', '\t'}) {
    const SplitSample split = split_sample(content, other);
    if (split.cells < 2) continue;
    if (!by_comma || (split.commas > 0 && split.other_commas == 0)) return other;
    fail(ErrorKind::config, name, ": its cells may be separated by ',' or by ", other == ';' ? "';'" : "tabs",
         "; say delimiter: ',' or delimiter: ", other == ';' ? "';'" : "tab");
  }
  return ',';
}

// Whether the cells between such delimiters have decimal commas, and none a decimal point.
bool has_decimal_commas(std::string_view content, char delimiter) {
  if (delimiter == ',') return false;
  const SplitSample split = split_sample(content, delimiter);
  return split.commas > 0 && split.points == 0;
}

}  // namespace

char find_decimal(std::string_view content, char delimiter, const std::string& decimal, char earlier) {
  if (decimal != "auto") return decimal == "comma" ? ',' : '.';
  if (delimiter == ',') return '.';
  const SplitSample split = split_sample(content, delimiter);
  if (earlier == ',') return split.clear_points > 0 && split.commas == 0 ? '.' : ',';
  return split.clear_commas > 0 && split.points == 0 ? ',' : '.';
}

std::string point_among_commas(std::string_view cell) {
  return text(in_quotes(cell),
              " has a point, and decimals of this table have commas; write digits with a decimal comma ",
              "alone, as in 1234,5");
}

std::string other_decimal_text(std::string_view cell, char decimal) {
  const char other = decimal == ',' ? '.' : ',';
  double value = 0;
  if (cell.find(other) == cell.npos || !parse_number(cell, value, other)) return "";
  return decimal == ',' ? "; this table has decimal commas: write the number so, or set `decimal: point`"
                        : "; this table has decimal points: write the number so";
}

std::string other_delimiter_text(std::string_view content, char delimiter) {
  const std::string_view line = content.substr(0, content.find_first_of("\r\n"));
  if (lower(line).starts_with("sep="))
    return text("; the first line, ", in_quotes(line), ", is Excel's note of the mark between cells: remove it");
  if (line.starts_with('#') || line.starts_with("//"))
    return text("; the first line begins with ", in_quotes(line.substr(0, line[0] == '#' ? 1 : 2)),
                ", as a remark does: remove it");
  for (const char other : {',', ';', '\t', '|', ':', ' '})
    if (other != delimiter && split_sample(content, other).cells > 1)
      return text("; ", other == '\t' ? "a tab" : in_quotes(std::string(1, other)),
                  " splits all lines alike: say delimiter: ", other == '\t' ? "tab" : in_quotes(std::string(1, other)));
  return "";
}

CsvDialect find_dialect(std::string_view content, const std::string& name, const std::string& delimiter,
                        const std::string& decimal, char earlier) {
  CsvDialect out;
  out.delimiter = delimiter == "auto" ? find_delimiter(content, name) : delimiter_of(delimiter);
  const bool comma = earlier ? find_decimal(content, out.delimiter, decimal, earlier) == ','
                             : decimal == "comma" || (decimal == "auto" && has_decimal_commas(content, out.delimiter));
  if (comma && out.delimiter == ',')
    fail(ErrorKind::config, "decimal: the comma separates the cells of ", name, "; say delimiter, too");
  out.decimal = comma ? ',' : '.';
  return out;
}

}  // namespace neon
