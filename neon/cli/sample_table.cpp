// The columns that a net takes, of a CSV file.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "datasets/column_notes.h"
#include "datasets/csv.h"
#include "datasets/csv_dialect.h"
#include "datasets/table_header.h"
#include "neon/cli/samples.h"
#include "neon/core/counted.h"
#include "neon/core/message.h"

namespace neon {

namespace {

bool names_all(const std::vector<std::string>& features, const std::vector<CsvCell>& cells) {
  std::unordered_set<std::string_view> names;
  for (const CsvCell& cell : cells) names.insert(cell.text);
  return std::ranges::all_of(features, [&](const std::string& feature) { return names.contains(feature); });
}

struct SplitLine {
  size_t cells = 0;  // 0: the first line cannot be read with this delimiter
  bool has_names = false;
};
SplitLine first_line(const std::string& content, char delimiter, const std::string& name,
                     const std::vector<std::string>& features) try {
  std::vector<CsvCell> cells;
  CsvReader reader(content, delimiter, name);
  reader.next(cells);
  return {cells.size(), !features.empty() && names_all(features, cells)};
} catch (const Error&) {
  return {};
}

// A table need not be written as the one that the net was trained with. Its first line shows the
// separator: with the right one, the line has the names of the columns, or falls into cells. A line that shows nothing
// is one column.
char delimiter_of(const std::string& content, const std::string& name, const TableColumns& trained) {
  const char own = name.ends_with(".tsv") ? '\t' : trained.delimiter;
  char in_cells = '\0';
  for (const char delimiter : {own, ',', '\t', ';'}) {
    const SplitLine first = first_line(content, delimiter, name, trained.features);
    if (first.has_names) return delimiter;
    if (first.cells > 1 && in_cells == '\0') in_cells = delimiter;
  }
  return in_cells != '\0' ? in_cells : own;
}

class SampleTable {
 public:
  SampleTable(const std::string& content, const std::string& name, const StoredData& stored,
              std::vector<std::string>& notes)
      : name_(name),
        stored_(stored),
        trained_(stored.table),
        delimiter_(delimiter_of(content, name, stored.table)),
        decimal_(find_decimal(content, delimiter_, stored.decimal, stored.table.decimal)),
        reader_(content, delimiter_, name),
        notes_(notes),
        missing_(stored.table.missing) {
    for (size_t k = 0; k < trained_.codes.size(); ++k) {
      begins_.push_back(width_);
      width_ += size_t(trained_.codes[k].width());
    }
  }

  Tensor read() {
    bool header = false;
    const size_t begin = reader_.at();
    if (std::vector<CsvCell> cells; reader_.next(cells)) {
      count_ = cells.size();
      header = is_header(cells);
      choose_columns(header && !trained_.features.empty() ? &cells : nullptr);
      if (!header) reader_.go_to(begin);
      if (trained_.codes.empty()) width_ = features_;
      check_width();
      while (reader_.start_record()) read_row(header);
    }
    if (numbers_.empty())
      fail(ErrorKind::data, name_, ": holds no samples", header ? "; its first line names the columns" : "");
    note_cells();
    Tensor out(DType::f32, {int64_t(numbers_.size() / width_), int64_t(width_)});
    std::ranges::copy(numbers_, out.as<float>().begin());
    return out;
  }

 private:
  // Whether all columns of a table that was trained on without a header are here.
  bool is_trained_table() const {
    return int64_t(count_) == trained_.count && trained_.features.empty() && !trained_.positions.empty();
  }

  // The names that the net was trained with, or a header by the rule of table_header.h. An unclear line is read as a
  // sample, and its text is refused.
  bool is_header(const std::vector<CsvCell>& cells) const {
    if (!trained_.features.empty() && names_all(trained_.features, cells)) return true;
    std::vector<bool> counts(cells.size(), true);
    if (is_trained_table()) {
      counts.assign(cells.size(), false);
      for (const int64_t position : trained_.positions) counts[size_t(position)] = true;
    }
    return first_line_by_cells(cells, counts, missing_, decimal_) == FirstLine::header && !has_category(cells);
  }

  // Whether a cell is a category that a column of its place has: the line is then a sample.
  bool has_category(const std::vector<CsvCell>& cells) const {
    for (size_t k = 0; k < trained_.codes.size(); ++k) {
      const size_t place = int64_t(cells.size()) == trained_.count ? size_t(trained_.positions[k]) : k;
      const auto& names = trained_.codes[k].categories;
      if (place < cells.size() && std::ranges::count(names, cells[place].text)) return true;
    }
    return false;
  }

  // How many columns the net takes.
  int64_t columns_taken() const {
    return trained_.codes.empty() ? stored_.sample.elements() : int64_t(trained_.codes.size());
  }

  void check_width() const {
    if (trained_.codes.empty() && stored_.is_image() && int64_t(features_) != stored_.sample.elements())
      fail(ErrorKind::data, name_, ": the net takes images ", stored_.sample, ", ", stored_.sample.elements(),
           " numbers a row; the table has ", counted(int64_t(count_), "column"),
           "; if it is a list of images, give the images or their folder, or give the list to neon eval");
    if (!trained_.codes.empty() && features_ != trained_.codes.size())
      fail(ErrorKind::data, name_, ": has ", count_, " columns; the net takes ", trained_.codes.size(),
           trained_.features.empty() ? std::string() : text(": ", list_text(trained_.features)), "; read with ",
           delimiter_text(), " between cells");
  }

  // By name where there are names on both sides, otherwise by position.
  void choose_columns(const std::vector<CsvCell>* names) {
    place_.assign(count_, kLeftOut);
    if (names) return choose_named(*names);
    if (is_trained_table()) {
      for (const int64_t position : trained_.positions) place_[size_t(position)] = int64_t(features_++);
      return;
    }
    std::iota(place_.begin(), place_.end(), int64_t(0));
    features_ = count_;
    if (int64_t(count_) != trained_.count || int64_t(count_) <= columns_taken()) return;
    fail(ErrorKind::data, name_, ": has ", count_,
         " columns, as the table that the net was trained with; the net takes ", columns_taken(), " of them: leave ",
         trained_.features.empty() ? "the target out"
                                   : list_text(trained_.others) + " out, or begin with the line of the columns' names");
  }

  void choose_named(const std::vector<CsvCell>& names) {
    std::unordered_map<std::string_view, size_t> places;
    std::vector<std::string> all, missing;
    for (const CsvCell& cell : names) {
      if (!places.emplace(cell.text, places.size()).second)
        reader_.fail_at(cell.at, text("two columns are named ", in_quotes(cell.text)));
      all.emplace_back(cell.text);
    }
    for (const std::string& feature : trained_.features) {
      const auto found = places.find(feature);
      if (found == places.end()) missing.push_back(feature);
      else place_[found->second] = int64_t(&feature - trained_.features.data());
    }
    features_ = trained_.features.size();
    if (missing.empty()) return note_unknown(all);
    const std::string hint = did_you_mean(missing.front(), all);
    for (std::string& one : missing) one = in_quotes(one);
    fail(ErrorKind::data, name_, ": has no ", missing.size() > 1 ? "columns " : "column ", list_text(missing), hint,
         " (the net takes ", list_text(trained_.features), "); read with ", delimiter_text(), " between cells");
  }

  void note_unknown(const std::vector<std::string>& names) {
    const std::unordered_set<std::string_view> others(trained_.others.begin(), trained_.others.end());
    std::vector<std::string> unknown;
    for (size_t i = 0; i < names.size(); ++i)
      if (place_[i] == kLeftOut && !others.contains(names[i])) unknown.push_back(in_quotes(names[i]));
    if (!unknown.empty())
      notes_.push_back(text(name_, ": left out, since the net was trained without: ", list_text(unknown, ", ", 20)));
  }

  std::string delimiter_text() const {
    if (delimiter_ == '\t') return "tabs";
    return delimiter_ == ',' ? "commas" : in_quotes(std::string(1, delimiter_));
  }

  void read_row(bool header) {
    const size_t start = reader_.at(), before = numbers_.size();
    numbers_.resize(before + width_);
    for (size_t i = 0; i < count_; ++i) {
      if (place_[i] == kLeftOut) reader_.skip_cell();
      else if (trained_.codes.empty()) read_number(numbers_[before + size_t(place_[i])]);
      else read_coded(size_t(place_[i]), &numbers_[before + begins_[size_t(place_[i])]]);
      if (reader_.another_cell() != (i + 1 < count_)) wrong_count(start, header);
    }
  }

  void read_number(float& to) {
    if (decimal_ == '.' && reader_.take_f32(to)) return;
    const CsvCell cell = reader_.cell();
    double value = 0;
    if (!parse_f32(cell.text, value, decimal_)) fail_at_number(cell);
    to = float(value);
  }

  [[noreturn]] void fail_at_number(const CsvCell& cell) const {
    reader_.fail_at(cell.at, no_f32_text(cell.text, missing_, other_decimal_text(cell.text, decimal_)));
  }

  // The numbers of a cell, by the kind that its column had in training.
  void read_coded(size_t feature, float* to) {
    const ColumnCode& code = trained_.codes[feature];
    const bool numbers = code.kind == ColumnKind::number;
    float quick = 0;
    if (numbers && decimal_ == '.' && reader_.take_f32(quick)) return code.put_number(double(quick), to);
    const CsvCell cell = reader_.cell();
    double value = 0;
    if (missing_.contains(cell.text)) {
      if (!code.indicator) ++filled_[feature];
      return code.put_missing(to);
    }
    if (numbers && parse_f32(cell.text, value, decimal_)) return code.put_number(double(float(value)), to);
    if (numbers) fail_at_number(cell);
    if (code.put_text(cell.text, to)) return;
    if (code.kind != ColumnKind::category)
      reader_.fail_at(cell.at, text(feature_text(feature), ": expected a ", name_of(code.kind),
                                    ", as in training, found ", in_quotes(cell.text)));
    if (!is_utf8(cell.text)) reader_.fail_at(cell.at, text(feature_text(feature), ": ", no_utf8_text(cell.text)));
    UnknownCells& unknown = unknown_[feature];
    if (unknown.rows++ == 0) unknown.first = std::string(cell.text), unknown.names = 1;
    else if (cell.text != unknown.first) unknown.names = 2;  // or more
  }

  std::string feature_text(size_t feature) const {
    return trained_.features.empty() ? text("column ", trained_.positions[feature])
                                     : text("column ", in_quotes(trained_.features[feature]));
  }

  // Cells that no training row was like.
  void note_cells() const {
    for (const auto& [feature, rows] : filled_)
      notes_.push_back(
          text("note: ", name_, ": ", feature_text(feature), ": ", missing_note(trained_.codes[feature], rows)));
    for (const auto& [feature, cells] : unknown_)
      notes_.push_back(
          text("note: ", name_, ": ", feature_text(feature), ": ", unknown_note(trained_.codes[feature], cells)));
  }

  [[noreturn]] void wrong_count(size_t start, bool header) {
    std::vector<CsvCell> cells;
    reader_.go_to(start);
    reader_.next(cells);
    reader_.fail_at(cells.front().at,
                    text(cells.size(), " cells, the ", header ? "header has " : "lines before have ", count_));
  }

  static constexpr int64_t kLeftOut = -1;
  const std::string& name_;
  const StoredData& stored_;
  const TableColumns& trained_;
  char delimiter_, decimal_;
  CsvReader reader_;
  std::vector<std::string>& notes_;
  MissingMarks missing_;
  size_t count_ = 0, features_ = 0;         // columns of the table; those that the net takes
  size_t width_ = 0;                        // numbers of a sample
  std::vector<size_t> begins_;              // of each coded column, among the numbers of a sample
  std::map<size_t, int64_t> filled_;        // rows by column, with a value that was never missing
  std::map<size_t, UnknownCells> unknown_;  // the same of unknown categories
  std::vector<int64_t> place_;              // of each column, among the numbers of a sample; or kLeftOut
  std::vector<float> numbers_;
};

}  // namespace

Tensor read_sample_table(const std::string& content, const std::string& name, const StoredData& stored,
                         std::vector<std::string>& notes) {
  return SampleTable(content, name, stored, notes).read();
}

}  // namespace neon
