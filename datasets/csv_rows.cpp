#include "datasets/csv_rows.h"

#include <algorithm>
#include <exception>

#include "neon/core/threads.h"

namespace neon {

// Lines that one thread reads, and where their rows go.
struct CsvRows::Part {
  size_t begin = 0, end = 0;
  int64_t most = 0, rows = 0;  // rows that there may be; that were read
  float* features = nullptr;
  std::string_view* targets = nullptr;
  std::vector<Table::Unescaped> unescaped;
  std::exception_ptr trouble;
};

CsvRows::CsvRows(const std::string& header, const MissingMarks& missing, const TableLayout& layout,
                 const std::vector<CsvCell>& first)
    : header_(header),
      missing_(missing),
      layout_(layout),
      first_(first),
      features_in_a_row_(std::max<size_t>(layout.feature.size(), 1), 0) {
  for (size_t i = features_in_a_row_.size() - 1; i-- > 0;)
    features_in_a_row_[i] = layout.feature[i] && i != layout.target ? features_in_a_row_[i + 1] + 1 : 0;
}

// Parts end where lines do. A line end in a quoted cell does not end a line, so a file with quotes is one part. A file
// whose lines are too short for their columns is one part, too, since a row is wrong.
std::vector<CsvRows::Part> CsvRows::parts_of(size_t begin, const Table& table) const {
  constexpr size_t kLeast = size_t(1) << 20;
  const std::string_view all = table.file->text();
  const size_t bytes = all.size() - begin;
  const bool quotes = all.find('"', begin) != all.npos;
  const size_t count = quotes ? 1 : std::clamp<size_t>(bytes / kLeast, 1, size_t(available_threads()));
  std::vector<Part> out(count);
  for (size_t k = 0; k < count; ++k) {
    out[k].begin = k == 0 ? begin : out[k - 1].end;
    const size_t line_end = all.find_first_of("\r\n", std::max(begin + bytes / count * (k + 1), out[k].begin));
    out[k].end = k + 1 == count || line_end == all.npos ? all.size() : line_end + 1;
  }
#pragma omp parallel for num_threads(int(count)) schedule(static, 1)
  for (size_t k = 0; k < count; ++k)
    out[k].most = CsvReader(all, table.delimiter, "", out[k].begin, out[k].end).count_lines();
  int64_t rows = 0;
  for (const Part& part : out) rows += part.most;
  const auto fit = int64_t((bytes + 1) / table.columns);  // a cell and what ends it take a byte at least
  if (rows <= fit) return out;
  std::vector<Part> one(1);
  one[0].begin = begin;
  one[0].end = all.size();
  one[0].most = fit;
  return one;
}

void CsvRows::read(size_t begin, Table& table) const {
  std::vector<Part> parts = parts_of(begin, table);
  int64_t most = 0;
  for (const Part& part : parts) most += part.most;
  table.features = Tensor(DType::f32, {most, int64_t(layout_.features)});
  table.targets.resize(size_t(most));
  float* features = most > 0 ? table.features.as<float>().data() : nullptr;
  std::string_view* targets = table.targets.data();
  for (Part& part : parts) {
    part.features = features;
    part.targets = targets;
    features += part.most * int64_t(layout_.features);
    targets += part.most;
  }
#pragma omp parallel for num_threads(int(parts.size())) schedule(static, 1)
  for (size_t k = 0; k < parts.size(); ++k) try {
      read_part(parts[k], table);
    } catch (...) {  // nothing may leave a parallel loop
      parts[k].trouble = std::current_exception();
    }
  for (Part& part : parts) {
    if (part.trouble) std::rethrow_exception(part.trouble);
    std::ranges::move(part.unescaped, std::back_inserter(table.unescaped));
  }
  if (const int64_t rows = parts.back().rows; rows < parts.back().most) {  // only where the parts are one
    table.features = table.features.rows(0, rows);
    table.targets.resize(size_t(rows));
  }
}

void CsvRows::read_part(Part& part, const Table& table) const {
  CsvReader reader(table.file->text(), table.delimiter, table.path, part.begin, part.end);
  for (; reader.start_record(); ++part.rows) read_row(reader, part, table);
}

void CsvRows::read_row(CsvReader& reader, Part& part, const Table& table) const {
  const size_t start = reader.at();
  const auto wrong_count = [&] {
    std::vector<CsvCell> cells;
    reader.go_to(start);
    reader.next(cells);
    reader.fail_at(cells.back().at, text("this row has ", cells.size(), " cells, the first row ", table.columns));
  };
  if (part.rows == part.most) wrong_count();  // rows of all columns would fit
  float* to = part.features + part.rows * int64_t(layout_.features);
  for (size_t i = 0; i < table.columns; ++i) {
    const size_t quick = reader.take_short_f32s(to, features_in_a_row_[i]);
    to += quick, i += quick;
    if (i == layout_.target) part.targets[part.rows] = target(reader.cell(), part);
    else if (!layout_.feature[i]) reader.skip_cell();
    else if (!reader.take_f32(*to++)) to[-1] = read_number(reader, i, table);
    if (reader.another_cell() != (i + 1 < table.columns)) wrong_count();
  }
}

std::string_view CsvRows::target(const CsvCell& cell, Part& part) {
  if (!cell.escaped) return cell.text;
  part.unescaped.push_back({std::make_unique<const std::string>(cell.text), cell.at});
  return *part.unescaped.back().text;
}

// A number in quotes, say, or an error.
float CsvRows::read_number(CsvReader& reader, size_t column, const Table& table) const {
  const CsvCell cell = reader.cell();
  double value = 0;
  if (parse_f32(cell.text, value)) return float(value);
  const bool first = header_ == "auto" && table.names.empty() && cell.at == first_[column].at;
  reader.fail_at(cell.at, text("column ", table.names.empty() ? text(column) : in_quotes(table.names[column]), ": ",
                               no_f32_text(cell.text, missing_, "; a column of text can be left out with ignore"),
                               first ? "; header: true takes this line for names" : ""));
}

}  // namespace neon
