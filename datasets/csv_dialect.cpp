#include "datasets/csv_dialect.h"

#include <vector>

#include "datasets/csv.h"
#include "datasets/csv_columns.h"
#include "datasets/table_cell.h"
#include "neon/core/error.h"

namespace neon {

namespace {

// The first lines as a delimiter splits them.
struct SplitSample {
  size_t cells = 0;                                 // of each line; 0: lines differ, or cannot be split so
  size_t points = 0, commas = 0, other_commas = 0;  // cells that are numbers with each; other cells with a comma
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
      if (comma && parse_number(cell.text, value, ',')) ++out.commas;
      else if (comma) ++out.other_commas;
      else if (cell.text.find('.') != cell.text.npos && parse_number(cell.text, value)) ++out.points;
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

}  // namespace

bool has_decimal_commas(std::string_view content, char delimiter) {
  if (delimiter == ',') return false;
  const SplitSample split = split_sample(content, delimiter);
  return split.commas > 0 && split.points == 0;
}

bool has_decimal_points(std::string_view content, char delimiter) {
  return split_sample(content, delimiter).points > 0;
}

CsvDialect find_dialect(std::string_view content, const std::string& name, const std::string& delimiter,
                        const std::string& decimal) {
  CsvDialect out;
  out.delimiter = delimiter == "auto" ? find_delimiter(content, name) : delimiter_of(delimiter);
  const bool comma = decimal == "comma" || (decimal == "auto" && has_decimal_commas(content, out.delimiter));
  if (comma && out.delimiter == ',')
    fail(ErrorKind::config, "decimal: the comma separates the cells of ", name, "; say delimiter, too");
  out.decimal = comma ? ',' : '.';
  return out;
}

}  // namespace neon
