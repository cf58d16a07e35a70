#include "datasets/csv_table.h"

#include <algorithm>
#include <cmath>

#include "datasets/csv.h"
#include "datasets/gzip.h"

namespace neon {

namespace {

char delimiter_of(const std::string& written) {
  if (written == "tab" || written == "\\t" || written == "\t") return '\t';
  if (written.size() == 1 && written != "\"" && written != "\n" && written != "\r") return written[0];
  fail(ErrorKind::config, "delimiter: '", written, "' is not one character (or tab)");
}

std::string shown(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  std::vector<std::string> first;
  for (const std::string& name : names)
    if (first.size() < kMost) first.push_back(in_quotes(name));
  return join(first, ", ") + (names.size() > kMost ? text(" and ", names.size() - kMost, " more") : "");
}

// Index of the column of that name or number.
size_t column_of(const std::string& written, const Table& table, const char* parameter) {
  for (size_t i = 0; i < table.names.size(); ++i)
    if (table.names[i] == written) return i;
  double number = 0;
  if (parse_number(written, number) && number == std::floor(number)) {
    if (number >= 0 && number < double(table.columns)) return size_t(number);
    fail(ErrorKind::config, parameter, ": there is no column ", written, ": ", table.path, " has columns 0 to ",
         table.columns - 1);
  }
  if (table.names.empty())
    fail(ErrorKind::config, parameter, ": '", written, "' is a name, but ", table.path,
         " is read without a header: give an index from 0, or header: true");
  fail(ErrorKind::config, parameter, ": ", table.path, " has no column '", written, "'",
       did_you_mean(written, table.names), " (it has ", shown(table.names), ")");
}

TableLayout layout_of(const CsvParams& params, const Table& table) {
  TableLayout out;
  out.feature.assign(table.columns, true);
  for (const std::string& name : params.ignore) out.feature[column_of(name, table, "ignore")] = false;
  const bool named_last = std::ranges::count(table.names, "last") > 0;
  out.target = params.target == "last" && !named_last ? table.columns - 1 : column_of(params.target, table, "target");
  if (!out.feature[out.target]) fail(ErrorKind::config, "ignore: column ", params.target, " is the target");
  out.feature[out.target] = false;
  out.features = size_t(std::ranges::count(out.feature, true));
  if (out.features == 0)
    fail(ErrorKind::data, table.path, ": no columns are left beside the target",
         table.columns == 1 ? text("; cells are separated by ", in_quotes(params.delimiter), " (delimiter)") : "");
  return out;
}

bool is_header(const CsvParams& params, const std::vector<CsvCell>& first) {
  if (params.header != "auto") return params.header == "true";
  // The target may be text in every row, so it says nothing; which column it is may be known by name only.
  double number = 0;
  size_t texts = 0, named_target = 0;
  for (const CsvCell& cell : first) {
    texts += !parse_number(cell.text, number);
    named_target += cell.text == params.target;
  }
  const bool last_is_text = !first.empty() && !parse_number(first.back().text, number);
  if (params.target == "last") return texts > size_t(last_is_text);
  return named_target > 0 || texts > 1;
}

class TableReader {
 public:
  TableReader(const CsvParams& params, const std::string& path)
      : params_(params), text_(read_maybe_gzip(path)), reader_(text_, delimiter_of(params.delimiter), path) {
    table_.path = path;
    table_.delimiter = delimiter_of(params.delimiter);
  }

  Table read(TableLayout& layout) {
    std::vector<CsvCell> cells;
    if (!reader_.next(cells)) fail(ErrorKind::data, table_.path, ": is empty");
    table_.columns = cells.size();
    const bool header = is_header(params_, cells);
    if (header) read_names(cells);
    layout = layout_of(params_, table_);
    if (!header) add_row(cells, layout);
    while (reader_.next(cells)) add_row(cells, layout);
    if (table_.targets.empty()) fail(ErrorKind::data, table_.path, ": has no rows below its header");
    return std::move(table_);
  }

 private:
  void read_names(const std::vector<CsvCell>& cells) {
    for (const CsvCell& cell : cells) {
      if (std::ranges::count(table_.names, cell.text) > 0)
        reader_.fail_at(cell, text("two columns are named ", in_quotes(cell.text)));
      if (!is_utf8(cell.text))
        reader_.fail_at(cell, text("the name ", in_quotes(cell.text), " is not UTF-8; save the file as UTF-8"));
      table_.names.emplace_back(cell.text);
    }
  }

  std::string column_text(size_t i) const {
    return table_.names.empty() ? text("column ", i) : text("column ", in_quotes(table_.names[i]));
  }

  void add_row(const std::vector<CsvCell>& cells, const TableLayout& layout) {
    if (cells.size() != table_.columns)
      reader_.fail_at(cells.back(), text("this row has ", cells.size(), " cells, the first row ", table_.columns));
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i == layout.target) table_.targets.push_back({std::string(cells[i].text), cells[i].line, cells[i].column});
      if (!layout.feature[i]) continue;
      double value = 0;
      if (!parse_f32(cells[i].text, value))
        reader_.fail_at(cells[i], column_text(i) + ": " +
                                      no_f32_text(cells[i].text, "; a column of text can be left out with ignore"));
      table_.features.push_back(float(value));
    }
  }

  const CsvParams& params_;
  std::string text_;
  CsvReader reader_;
  Table table_;
};

}  // namespace

Table read_table(const CsvParams& params, const std::string& path, TableLayout& layout) {
  return TableReader(params, path).read(layout);
}

}  // namespace neon
