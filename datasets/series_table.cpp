#include "datasets/series_table.h"

#include <algorithm>
#include <cmath>

#include "datasets/csv.h"
#include "datasets/csv_columns.h"
#include "datasets/csv_dialect.h"
#include "datasets/csv_meant.h"
#include "datasets/table_header.h"
#include "datasets/text_file.h"
#include "neon/core/counted.h"

namespace neon {

namespace {

bool is_name(const std::string& column) {
  return column.empty() || column.find_first_not_of("0123456789") != column.npos;
}

constexpr size_t kRowsLookedAt = 2000;  // for numbers that may be thousands

class SeriesReader {
 public:
  SeriesReader(std::string_view content, const std::string& name, const SeriesColumns& asked)
      : asked_(asked),
        missing_(asked.missing),
        dialect_(find_dialect(content, name, asked.delimiter, asked.decimal, asked.earlier_decimal)),
        reader_(content, dialect_.delimiter, name) {
    out_.path = name;
    out_.delimiter = dialect_.delimiter;
    out_.decimal = dialect_.decimal;
    out_.content = content;
  }

  SeriesTable run() {
    const size_t begin = reader_.at();
    std::vector<CsvCell> first;
    if (!reader_.next(first)) fail(ErrorKind::data, out_.path, ": is empty");
    out_.columns = first.size();
    bool header = asked_.header == "true" || (asked_.header == "auto" && names_a_column());
    if (header) out_.names = header_names(first, reader_);
    choose();
    if (asked_.header == "auto" && !header && is_header(first)) {
      header = true;
      out_.names = header_names(first, reader_);
      choose();
    }
    if (!header) reader_.go_to(begin);
    read_rows();
    if (numbers_.empty()) fail(ErrorKind::data, out_.path, ": has no rows", header ? " below its header" : "");
    const auto width = int64_t(out_.features.size() + out_.targets.size());
    out_.numbers = Tensor(DType::f32, {int64_t(numbers_.size()) / width, width});
    std::ranges::copy(numbers_, out_.numbers.as<float>().begin());
    return std::move(out_);
  }

 private:
  bool names_a_column() const {
    for (const auto* columns : {&asked_.columns, &asked_.ignore, &asked_.targets, &asked_.texts})
      if (std::ranges::any_of(*columns, is_name)) return true;
    return false;
  }

  std::vector<size_t> places_of(const std::vector<std::string>& columns, const char* parameter) const {
    Table table;
    table.path = out_.path;
    table.head = out_.content;
    table.delimiter = out_.delimiter;
    table.names = out_.names;
    table.columns = out_.columns;
    std::vector<size_t> out;
    for (const std::string& column : columns) {
      out.push_back(column_at(table, column, parameter));
      if (std::ranges::count(out, out.back()) > 1)
        fail(ErrorKind::config, parameter, ": column ", in_quotes(column), " is named twice");
    }
    return out;
  }

  // Columns of the net that was trained: by name, whatever digits it may have.
  std::vector<size_t> places_by_name(const std::vector<std::string>& columns) const {
    std::vector<size_t> out;
    for (const std::string& column : columns) {
      const auto found = std::ranges::find(out_.names, column);
      if (found == out_.names.end())
        fail(ErrorKind::config, "columns: ", out_.path, " has no column ", in_quotes(column),
             did_you_mean(column, out_.names));
      out.push_back(size_t(found - out_.names.begin()));
    }
    return out;
  }

  void choose() {
    out_.texts = places_of(asked_.texts, asked_.texts.size() > 1 ? "id or target" : asked_.text_parameter);
    out_.targets = places_of(asked_.targets, "targets");
    const bool trained = !asked_.trained.empty() && !out_.names.empty();
    const std::vector<size_t> ignored = trained ? std::vector<size_t>() : places_of(asked_.ignore, "ignore");
    out_.features = trained ? places_by_name(asked_.trained) : places_of(asked_.columns, "columns");
    const auto has = [](const std::vector<size_t>& columns, size_t i) { return std::ranges::count(columns, i) > 0; };
    if (out_.features.empty())
      for (size_t i = 0; i < out_.columns; ++i)
        if (!has(ignored, i) && !has(out_.texts, i)) out_.features.push_back(i);
    for (const size_t i : out_.features)
      if (has(ignored, i) || has(out_.texts, i))
        fail(ErrorKind::config, "columns: ", out_.name_of(i),
             has(ignored, i) ? " is to be ignored, too" : " has a use of its own", "; leave it out of one of them");
    if (!trained) std::ranges::sort(out_.features);
    if (out_.features.empty()) fail(ErrorKind::data, out_.path, ": no columns of numbers are left");
  }

  // The rule of table_header.h; a line that it cannot tell is refused.
  bool is_header(const std::vector<CsvCell>& cells) const {
    std::vector<bool> counts(cells.size(), false);
    for (const size_t i : out_.features) counts[i] = true;
    const FirstLine first = first_line_by_cells(cells, counts, missing_, dialect_.decimal);
    const bool unclear = first == FirstLine::unclear || (first == FirstLine::sample && are_column_numbers(cells));
    if (unclear)
      fail(ErrorKind::config, reader_.place(cells.front().at), ": ",
           unclear_header(first == FirstLine::unclear ? "some of its cells are numbers, some texts"
                                                      : "its cells are numbers that follow one another"));
    return first == FirstLine::header;
  }

  void read_rows() {
    out_.cells.resize(out_.texts.size());
    std::vector<size_t> number_places = out_.features;
    number_places.insert(number_places.end(), out_.targets.begin(), out_.targets.end());
    std::vector<SeenNumbers> seen(number_places.size());
    for (std::vector<CsvCell> cells; reader_.next(cells);) {
      if (cells.size() != out_.columns)
        reader_.fail_at(cells.back().at, text("this row has ", counted(int64_t(cells.size()), "cell"),
                                              ", the first row ", out_.columns));
      for (const size_t i : number_places) numbers_.push_back(number_in(cells[i], i));
      for (size_t k = 0; k < seen.size() && out_.begins.size() < kRowsLookedAt; ++k)
        seen[k].add(cells[number_places[k]].text, cells[number_places[k]].at, dialect_.decimal);
      for (size_t k = 0; k < out_.texts.size(); ++k) take_text(cells[out_.texts[k]], k);
      out_.begins.push_back(cells.front().at);
    }
    for (size_t k = 0; k < seen.size() && asked_.asks_about_groups && asked_.decimal == "auto"; ++k)
      if (seen[k].are_unclear())
        reader_.fail_at(seen[k].place,
                        text("column ", out_.name_of(number_places[k]), ": ", seen[k].question(dialect_.decimal),
                             ", or say decimal: ", dialect_.decimal == ',' ? "comma" : "point"));
  }

  float number_in(const CsvCell& cell, size_t column) const {
    double value = 0;
    if (!parse_f32(cell.text, value, dialect_.decimal)) {
      if (dialect_.decimal == ',' && parse_number(cell.text, value))
        reader_.fail_at(cell.at, text("column ", out_.name_of(column), ": ", point_among_commas(cell.text)));
      const std::string other = other_decimal_text(cell.text, dialect_.decimal);
      const bool predicted = std::ranges::count(out_.targets, column) > 0;
      reader_.fail_at(cell.at, text("column ", out_.name_of(column), ": ",
                                    no_f32_text(cell.text, missing_,
                                                !other.empty() ? other
                                                : predicted ? "; targets are numbers: label names a column of classes"
                                                            : "; a column of text can be left out with ignore")));
    }
    return float(value);
  }

  void take_text(const CsvCell& cell, size_t k) {
    if (missing_.contains(cell.text))
      reader_.fail_at(cell.at, text("column ", out_.name_of(out_.texts[k]), ": the value is missing"));
    out_.cells[k].emplace_back(cell.text);
  }

  const SeriesColumns& asked_;
  const MissingMarks missing_;
  const CsvDialect dialect_;
  CsvReader reader_;
  std::vector<float> numbers_;
  SeriesTable out_;
};

}  // namespace

std::string SeriesTable::place(int64_t row) const {
  return CsvReader(content, delimiter, path).place(begins[size_t(row)]);
}

std::string SeriesTable::name_of(size_t column) const {
  return names.empty() ? text(column) : in_quotes(names[column]);
}

TableColumns SeriesTable::described() const {
  TableColumns out;
  out.count = int64_t(columns);
  out.delimiter = delimiter;
  out.decimal = decimal;
  const auto is_feature = [&](size_t i) { return std::ranges::count(features, i) > 0; };
  for (size_t i = 0; i < columns; ++i)
    if (!names.empty() && !is_feature(i)) out.others.push_back(names[i]);
  for (const size_t i : features) {
    if (!names.empty()) out.features.push_back(names[i]);
    out.positions.push_back(int64_t(i));
  }
  return out;
}

SeriesTable read_series(const std::string& path, const SeriesColumns& columns) {
  auto file = std::make_shared<const TextFile>(path);
  SeriesTable out = read_series_text(file->text(), path, columns);
  out.file = std::move(file);
  return out;
}

SeriesTable read_series_text(std::string_view content, const std::string& name, const SeriesColumns& columns) {
  return SeriesReader(content, name, columns).run();
}

Standard standard_of(const Tensor& rows, int64_t first, int64_t count, const std::vector<int64_t>& columns) {
  Standard out;
  const int64_t width = rows.shape()[1];
  const auto numbers = rows.as<float>();
  for (const int64_t column : columns) {
    const auto at = [&](int64_t row) { return double(numbers[size_t((first + row) * width + column)]); };
    double sum = 0, squares = 0;
    for (int64_t row = 0; row < count; ++row) sum += at(row);
    const double mean = sum / double(count);
    for (int64_t row = 0; row < count; ++row) squares += (at(row) - mean) * (at(row) - mean);
    const double deviation = std::sqrt(squares / double(count));
    out.means.push_back(mean);
    out.deviations.push_back(deviation > 0 ? deviation : 1);
  }
  return out;
}

bool has_zeros_and_ones(const Tensor& rows, int64_t column) {
  const auto numbers = rows.as<float>();
  for (size_t i = size_t(column); i < numbers.size(); i += size_t(rows.shape()[1]))
    if (numbers[i] != 0 && numbers[i] != 1) return false;
  return true;
}

void bring_to(const Standard& standard, std::span<float> rows) {
  const size_t columns = standard.means.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t k = i % columns;
    rows[i] = float((double(rows[i]) - standard.means[k]) / standard.deviations[k]);
  }
}

bool has_standard(const std::optional<Standard>& former, int64_t columns, const std::string& source) {
  if (!former) return false;
  if (int64_t(former->means.size()) != columns)
    fail(ErrorKind::config, source, ": has ", columns,
         " columns that the net would know the mean of, and the net knows ", former->means.size(),
         "; give the net the columns that it was trained with");
  return true;
}

}  // namespace neon
