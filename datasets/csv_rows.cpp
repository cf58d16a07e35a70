#include "datasets/csv_rows.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include "datasets/csv_dialect.h"
#include "datasets/line_pieces.h"
#include "datasets/text_codes.h"
#include "neon/core/counted.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

// The first byte of the line behind byte `at`, or the end of the file.
size_t line_behind(const TextFile& file, size_t at) {
  for (LinePieces pieces(file, at, file.size()); pieces.next();)
    if (const size_t end = pieces.text().find_first_of("\r\n", pieces.from()); end != std::string_view::npos)
      return end + 1 + pieces.shift();
  return file.size();
}

std::string_view kept(std::string_view cell, std::pmr::memory_resource& room) {
  auto* const to = static_cast<char*>(room.allocate(cell.size(), 1));
  std::ranges::copy(cell, to);
  return {to, cell.size()};
}

}  // namespace

// Lines that one thread reads, and where their rows go.
struct CsvRows::Part {
  // Cells of a column that are texts where numbers may stand.
  struct Odd {
    int64_t count = 0;
    size_t first = 0;
  };
  size_t begin = 0, end = 0;
  int64_t most = 0, rows = 0;  // rows that there may be; that were read
  float* features = nullptr;
  std::vector<std::string_view*> targets;
  std::vector<Table::Unescaped> unescaped;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> room;  // of targets; null where the text stays
  size_t shift = 0;                                           // from a place in the piece to that in the file
  std::map<size_t, TextCodes> texts;                          // by column
  std::map<size_t, Odd> odd;                                  // by column
  std::exception_ptr trouble;
};

CsvRows::CsvRows(const CsvParams& params, const MissingMarks& missing, const TableLayout& layout,
                 const std::vector<CsvCell>& first)
    : params_(params),
      missing_(missing),
      layout_(layout),
      first_(first),
      use_(layout.use),
      place_(layout.use.size()),
      target_(layout.use.size()) {
  for (size_t k = 0; k < layout.targets.size(); ++k) target_[layout.targets[k]] = k;
  for (size_t i = 0, place = 0; i < place_.size(); ++i) place_[i] = layout.feature[i] ? place++ : place;
}

// Parts end where lines do, in a quoted cell, too; read_all() finds that. A file whose lines are too short for their
// columns is one part, since a row is wrong.
std::vector<CsvRows::Part> CsvRows::parts_of(const Table& table, size_t most_parts) {
  constexpr size_t kLeast = size_t(1) << 20;
  const TextFile& file = *table.file;
  const size_t begin = table.rows_begin, bytes = file.size() - begin;
  const size_t count = std::clamp<size_t>(bytes / kLeast, 1, most_parts);
  std::vector<Part> out(count);
  for (size_t k = 0; k < count; ++k) {
    out[k].begin = k == 0 ? begin : out[k - 1].end;
    out[k].end =
        k + 1 == count ? file.size() : line_behind(file, std::max(begin + bytes / count * (k + 1), out[k].begin));
  }
  std::vector<int> quotes(count);
#pragma omp parallel for num_threads(int(count)) schedule(static, 1)
  for (size_t k = 0; k < count; ++k) try {
      for (LinePieces pieces(file, out[k].begin, out[k].end); pieces.next();) {
        const LineCount counted = count_lines(pieces.lines());
        out[k].most += counted.lines;
        quotes[k] += counted.quotes;
      }
    } catch (...) {
      out[k].trouble = std::current_exception();
    }
  int64_t rows = 0;
  for (const Part& part : out) {
    if (part.trouble) std::rethrow_exception(part.trouble);
    rows += part.most;
  }
  const auto fit = int64_t((bytes + 1) / table.columns);  // a cell and what ends it take a byte at least
  quoted_ = std::ranges::any_of(quotes, [](int found) { return found > 0; });
  if (rows <= fit) return out;
  std::vector<Part> one(1);
  one[0].begin = begin;
  one[0].end = file.size();
  one[0].most = std::min(rows, fit);
  return one;
}

// Gives each part its rows of the table, and each column its run of numbers.
void CsvRows::place(std::vector<Part>& parts, Table& table) {
  float* features = table.features.elements() > 0 ? table.features.as<float>().data() : nullptr;
  int64_t first = 0;
  for (Part& part : parts) {
    part.rows = 0;
    part.features = features;
    part.room.reset(table.file->is_held() ? nullptr : new std::pmr::monotonic_buffer_resource);
    part.targets.clear();
    for (auto& column : table.targets) part.targets.push_back(column.data() + first);
    part.unescaped.clear();
    part.texts.clear();
    part.odd.clear();
    features += part.most * int64_t(layout_.features);
    first += part.most;
  }
  numbers_in_a_row_.assign(std::max<size_t>(use_.size(), 1), 0);
  if (table.decimal == '.')
    for (size_t i = numbers_in_a_row_.size() - 1; i-- > 0;)
      numbers_in_a_row_[i] = layout_.feature[i] && use_[i] != CellUse::text ? numbers_in_a_row_[i + 1] + 1 : 0;
}

// Expects texts where the first records have nothing else, so that their rows need not be read again.
void CsvRows::expect_texts(const Table& table) try {
  constexpr int kRecords = 100;
  std::vector<int> texts(use_.size()), numbers(use_.size());
  CsvReader reader(table.file->head(), table.delimiter, table.path, table.rows_begin);
  std::vector<CsvCell> cells;
  double value = 0;
  for (int record = 0; record < kRecords && reader.next(cells); ++record)
    for (size_t i = 0; i < std::min(cells.size(), use_.size()); ++i)
      if (layout_.feature[i] && use_[i] == CellUse::any && !missing_.contains(cells[i].text))
        ++(parse_number(cells[i].text, value, table.decimal) ? numbers : texts)[i];
  for (size_t i = 0; i < use_.size(); ++i)
    if (texts[i] > 0 && numbers[i] == 0) expected_.insert(i), use_[i] = CellUse::text;
} catch (const Error&) {  // read() meets the fault again, or another one before it
}

// Refuses the columns that were expected to have texts, and mostly have numbers.
void CsvRows::check_expected(const Table& table) const {
  for (const size_t column : expected_) {
    const ColumnTexts& found = table.texts.at(place_[column]);
    int64_t numbers = 0, texts = 0;
    size_t first = 0;
    double value = 0;
    for (size_t k = found.texts.size(); k-- > 0;) {
      const bool is_number = parse_number(found.texts[k], value, table.decimal);
      (is_number ? numbers : texts) += found.rows[k];
      if (!is_number) first = found.first[k];
    }
    if (numbers > texts) refuse_text(first, column, table);
  }
}

void CsvRows::refuse_text(size_t at, size_t column, const Table& table) const {
  CsvReader reader(table.file->text(), table.delimiter, table.path, at);
  fail_at_cell(reader, reader.cell(), column, table,
               "; mend the cell, or give the column a kind, category or ignore, under columns");
}

void CsvRows::read(size_t begin, Table& table) {
  table.rows_begin = begin;
  expect_texts(table);
  const std::vector<CellUse> use = use_;
  if (!table.file->is_held()) try {
      return read_all(table);
    } catch (const Error&) {  // the whole text has the places that messages tell
      table.file->text();
      table.texts.clear();
      use_ = use;
    }
  read_all(table);
}

// A part that begins in a quoted cell cannot be read, nor can the one before it. Since the first begins well, all do
// where all could be read.
void CsvRows::read_all(Table& table) {
  const std::vector<CellUse> use = use_;
  std::vector<Part> parts = parts_of(table, size_t(available_threads()));
  if (parts.size() == 1 || !quoted_) return read_table(parts, table);
  try {
    read_table(parts, table);
  } catch (const Error&) {
    table.texts.clear();
    use_ = use;
    parts = parts_of(table, 1);
    read_table(parts, table);
  }
}

void CsvRows::read_table(std::vector<Part>& parts, Table& table) {
  int64_t most = 0;
  for (const Part& part : parts) most += part.most;
  table.features = Tensor(DType::f32, {most, int64_t(layout_.features)});
  table.target_columns = layout_.targets;
  table.targets.clear();
  for (size_t k = 0; k < layout_.targets.size(); ++k) table.targets.emplace_back(size_t(most));
  do {
    place(parts, table);
    read_parts(parts, table);
  } while (found_texts(parts, table));
  for (const Part& part : parts)
    if (parts.size() > 1 && !quoted_ && part.rows < part.most)
      fail(ErrorKind::data, table.path, ": was changed while neon read it");
  join_texts(parts, table);
  check_expected(table);
  for (Part& part : parts) {
    std::ranges::move(part.unescaped, std::back_inserter(table.unescaped));
    if (part.room) table.rooms.push_back(std::move(part.room));
  }
  move_up(parts, table);
}

// Brings the rows together where parts have fewer than lines: quoted cells have line ends.
void CsvRows::move_up(const std::vector<Part>& parts, Table& table) const {
  int64_t rows = 0, first = 0;
  const int64_t width = int64_t(layout_.features);
  for (const Part& part : parts) {
    if (rows < first) {
      float* const all = table.features.elements() > 0 ? table.features.as<float>().data() : nullptr;
      if (all) std::copy_n(part.features, part.rows * width, all + rows * width);
      for (auto& column : table.targets) std::copy_n(column.data() + first, part.rows, column.data() + rows);
    }
    rows += part.rows;
    first += part.most;
  }
  if (rows == first) return;
  table.features = table.features.rows(0, rows);
  for (auto& column : table.targets) column.resize(size_t(rows));
}

void CsvRows::read_parts(std::vector<Part>& parts, Table& table) const {
#pragma omp parallel for num_threads(int(parts.size())) schedule(static, 1)
  for (size_t k = 0; k < parts.size(); ++k) try {
      read_part(parts[k], table);
    } catch (...) {  // nothing may leave a parallel loop
      parts[k].trouble = std::current_exception();
    }
  for (const Part& part : parts)
    if (part.trouble) std::rethrow_exception(part.trouble);
}

// Columns in which texts were found. Numbers with a text among them may be one or the other, so they are refused.
bool CsvRows::found_texts(const std::vector<Part>& parts, const Table& table) {
  int64_t rows = 0;
  std::map<size_t, Part::Odd> odd;
  for (const Part& part : parts) {
    rows += part.rows;
    for (const auto& [column, found] : part.odd) {
      Part::Odd& all = odd[column];
      if (all.count == 0) all.first = found.first;
      all.count += found.count;
    }
  }
  for (const auto& [column, found] : odd) {
    int64_t numbers = 0;
    for (const Part& part : parts)
      for (int64_t row = 0; row < part.rows; ++row)
        numbers += !std::isnan(part.features[row * int64_t(layout_.features) + int64_t(place_[column])]);
    if (numbers > found.count) refuse_text(found.first, column, table);
    use_[column] = CellUse::text;
  }
  return !odd.empty();
}

// Codes of the whole column, in the order in which texts come first.
void CsvRows::join_texts(std::vector<Part>& parts, Table& table) {
  for (Part& part : parts)
    for (const auto& of_column : part.texts) table.texts[of_column.first];
  for (auto& [place, all] : table.texts) {
    TextCodes joined;
    for (Part& part : parts) {
      const auto found = part.texts.find(place);
      if (found == part.texts.end()) continue;
      const std::vector<int32_t> codes = joined.add(found->second.column());
      const auto width = table.features.shape()[1];
      for (int64_t row = 0; row < part.rows; ++row) {
        float& cell = part.features[row * width + int64_t(place)];
        if (!std::isnan(cell)) cell = float(codes[size_t(cell)]);
      }
    }
    all = joined.column();
    constexpr size_t kMostTexts = size_t(1) << 24;  // whole numbers that f32 has
    if (all.texts.size() > kMostTexts)
      fail(ErrorKind::data, table.path, ": a column has ", all.texts.size(),
           " different texts; leave it out with ignore");
  }
}

void CsvRows::read_part(Part& part, const Table& table) const {
  for (size_t i = 0; i < use_.size(); ++i)
    if (layout_.feature[i] && use_[i] == CellUse::text) part.texts[place_[i]];
  for (LinePieces pieces(*table.file, part.begin, part.end, quoted_); pieces.next();) {
    CsvReader reader(pieces.text(), table.delimiter, table.path, pieces.from(), pieces.to());
    part.shift = pieces.shift();
    for (; reader.start_record(); ++part.rows) read_row(reader, part, table);
  }
}

void CsvRows::read_row(CsvReader& reader, Part& part, const Table& table) const {
  const size_t start = reader.at();
  std::vector<CsvCell> cells;
  const auto count_cells = [&] {
    reader.go_to(start);
    reader.next(cells);
    return cells.size();
  };
  const auto wrong_count = [&] {
    const std::string count = counted(int64_t(count_cells()), "cell");
    reader.fail_at(cells.back().at, text("this row has ", count, ", the first row ", table.columns));
  };
  if (part.rows == part.most) wrong_count();  // rows of all columns would fit
  float* to = part.features + part.rows * int64_t(layout_.features);
  try {
    for (size_t i = 0; i < table.columns; ++i) {
      const size_t quick = reader.take_short_f32s(to, numbers_in_a_row_[i]);
      to += quick, i += quick;
      if (layout_.feature[i]) read_cell(reader, i, part, table, *to++);
      else if (layout_.is_target(i)) part.targets[target_[i]][part.rows] = target(reader.cell(), part, table);
      else reader.skip_cell();
      if (reader.another_cell() != (i + 1 < table.columns)) wrong_count();
    }
  } catch (const Error&) {
    if (count_cells() != table.columns) wrong_count();  // this explains a cell in a column of another kind
    throw;
  }
}

void CsvRows::read_cell(CsvReader& reader, size_t column, Part& part, const Table& table, float& to) const {
  const bool texts = use_[column] == CellUse::text;
  if (!texts && table.decimal == '.' && reader.take_f32(to)) return;
  const CsvCell cell = reader.cell();
  double value = 0;
  to = std::numeric_limits<float>::quiet_NaN();
  if (missing_.contains(cell.text)) {
    if (!params_.impute && (texts || part.odd.contains(column)))
      reader.fail_at(cell.at, text(table.column_text(column), ": no value stands here, found ", in_quotes(cell.text),
                                   "; fill in or remove rows with missing values"));
    if (!params_.impute) fail_at_cell(reader, cell, column, table, "");
  } else if (texts) {
    to = float(part.texts[place_[column]].code_of(cell.text, cell.at + part.shift));
  } else if (parse_f32(cell.text, value, table.decimal)) {
    to = float(value);
  } else if (use_[column] == CellUse::any && !parse_number(cell.text, value, table.decimal)) {
    Part::Odd& odd = part.odd[column];
    if (odd.count++ == 0) odd.first = cell.at + part.shift;
  } else {
    fail_at_cell(reader, cell, column, table,
                 "; mend the cell, or train with the kind category for this column, under columns");
  }
}

std::string_view CsvRows::target(const CsvCell& cell, Part& part, const Table& table) const {
  double value = 0;
  const size_t comma = table.decimal == ',' ? cell.text.find(',') : cell.text.npos;
  const bool point = comma != cell.text.npos && parse_number(cell.text, value, ',');
  if (!cell.escaped && !point) return part.room ? kept(cell.text, *part.room) : cell.text;
  std::string own(cell.text);
  if (point) own[comma] = '.';
  part.unescaped.push_back({std::make_unique<const std::string>(std::move(own)), cell.at + part.shift});
  return *part.unescaped.back().text;
}

void CsvRows::fail_at_cell(const CsvReader& reader, const CsvCell& cell, size_t column, const Table& table,
                           const char* advice) const {
  const bool first = params_.header == "auto" && table.names.empty() && cell.at == first_[column].at;
  const std::string other = other_decimal_text(cell.text, table.decimal);
  reader.fail_at(cell.at,
                 text(table.column_text(column), ": ", no_f32_text(cell.text, missing_, other.empty() ? advice : other),
                      first ? "; header: true takes this line for names" : ""));
}

}  // namespace neon
