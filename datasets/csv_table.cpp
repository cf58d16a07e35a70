#include "datasets/csv_table.h"

#include <algorithm>

#include "datasets/csv.h"
#include "datasets/csv_columns.h"
#include "datasets/csv_dialect.h"
#include "datasets/csv_rows.h"
#include "datasets/line_pieces.h"
#include "datasets/table_header.h"

namespace neon {

namespace {

class TableReader {
 public:
  TableReader(const CsvParams& params, const std::string& path, const TableColumns* former, bool plain)
      : params_(params),
        former_(former),
        plain_(plain),
        missing_(params.missing),
        file_(opened(path)),
        dialect_(find_dialect(file_->head(), path, params.delimiter, params.decimal, former ? former->decimal : '\0')),
        reader_(file_->head(), dialect_.delimiter, path) {
    table_.path = path;
    table_.file = file_;
    table_.delimiter = dialect_.delimiter;
    table_.decimal = dialect_.decimal;
    if (dialect_.decimal == ',') file_->text();  // in which has_point() finds cells
  }

  Table read(TableLayout& layout) {
    const size_t begin = reader_.at();
    if (!reader_.next(first_)) fail(ErrorKind::data, table_.path, ": is empty");
    table_.columns = first_.size();
    const bool header =
        params_.header == "true" || (params_.header == "auto" && (names_columns(params_) || has_former_names()));
    if (header) table_.names = header_names(first_, reader_);
    layout_ = layout_of(params_, table_, former_, plain_);
    if (params_.header == "auto" && !header) find_header();
    if (table_.names.empty()) reader_.go_to(begin);
    CsvRows(params_, missing_, layout_, first_).read(reader_.at(), table_);
    if (table_.targets[0].empty()) fail(ErrorKind::data, table_.path, ": has no rows below its header");
    if (params_.header == "auto" && !header) check_header();
    layout = std::move(layout_);
    return std::move(table_);
  }

 private:
  // A large file stays on disk, where its first lines say enough.
  static std::shared_ptr<const TextFile> opened(const std::string& path) {
    constexpr int64_t kHeld = int64_t(1) << 23, kHead = int64_t(1) << 20, kLeastLines = 200;
    auto out = std::make_shared<const TextFile>(path, kHeld, kHead);
    if (!out->is_held() && count_whole_lines(out->head()) < kLeastLines) out->text();
    return out;
  }

  // Whether the first line has the names of the columns that a net was trained with.
  bool has_former_names() const {
    return former_ && !former_->features.empty() &&
           std::ranges::all_of(former_->features, [&](const std::string& name) {
             return std::ranges::any_of(first_, [&](const CsvCell& cell) { return cell.text == name; });
           });
  }

  // Decides by the first line alone; check_header() asks the targets of the others.
  void find_header() {
    const FirstLine first = first_line_by_cells(first_, layout_.feature, missing_, table_.decimal);
    if (first == FirstLine::unclear) {
      const auto of_kind = [&](CellKind kind) {
        for (size_t i = 0; i < first_.size(); ++i)
          if (layout_.feature[i] && kind_of(first_[i].text, missing_, table_.decimal) == kind)
            return in_quotes(first_[i].text);
        return std::string();
      };
      unclear(text(of_kind(CellKind::text), " is a text, ", of_kind(CellKind::number), " a number"));
    }
    if (first == FirstLine::sample) {
      if (are_column_numbers(first_)) unclear("its cells are numbers that follow one another");
      return;
    }
    table_.names = header_names(first_, reader_);
    layout_ = layout_of(params_, table_, former_, plain_);
  }

  // A column of texts may hide a sample: its first cell is then a text of other lines, too, or the target a number.
  void check_texts() const {
    double value = 0;
    if (table_.names.empty() || table_.texts.empty()) return;
    for (const size_t column : layout_.targets)
      if (const std::string_view target = first_[column].text; parse_number(target, value, table_.decimal))
        unclear(text("its target ", in_quotes(target), " is a number, and other cells are texts"));
    for (size_t i = 0, place = 0; i < first_.size(); ++i) {
      if (!layout_.feature[i]) continue;
      const auto found = table_.texts.find(place++);
      if (found != table_.texts.end() && std::ranges::count(found->second.texts, first_[i].text))
        unclear(text(in_quotes(first_[i].text), " is a cell of other lines, too"));
    }
  }

  void check_header() const {
    check_texts();
    for (size_t k = 0; k < layout_.targets.size(); ++k) check_target(k);
  }

  void check_target(size_t k) const {
    const std::string_view target = first_[layout_.targets[k]].text;
    if (kind_of(target, missing_, table_.decimal) != CellKind::text) return;
    const long others = table_.names.empty() ? 1 : 0;
    const std::vector<std::string_view>& all = table_.targets[k];
    const bool again = std::find(all.begin() + others, all.end(), target) != all.end();
    if (!table_.names.empty() && again)
      unclear(text("its target ", in_quotes(target), " is the target of another line"));
    if (table_.names.empty() && !again && are_in_order(first_, layout_.feature, table_.decimal))
      unclear(text("its numbers are in order, and its target ", in_quotes(target), " is the target of no other line"));
  }

  [[noreturn]] void unclear(const std::string& reason) const {
    fail(ErrorKind::config, reader_.place(first_.front().at), ": ", unclear_header(reason));
  }

  const CsvParams& params_;
  const TableColumns* const former_;
  const bool plain_;
  const MissingMarks missing_;
  std::shared_ptr<const TextFile> file_;
  const CsvDialect dialect_;
  CsvReader reader_;
  std::vector<CsvCell> first_;  // cells of the first line
  TableLayout layout_;
  Table table_;
};

}  // namespace

void check_targets(const CsvParams& params) {
  if (params.targets.empty()) return;
  if (params.target != CsvParams().target)
    fail(ErrorKind::config, "target and targets are both given; name all columns to predict in targets");
  if (params.task != CsvParams().task)
    fail(ErrorKind::config, "task is for target; targets says the kind of each, as in {", params.targets.front().first,
         ": ", params.task == "classes" ? "classes" : "number", "}; leave task out");
}

void Table::fail_at_target(size_t row, size_t k, const std::string& message) const {
  const std::string_view cell = targets[k][row];
  const std::string_view all = file->text();
  if (!rooms.empty()) {
    CsvReader reader(all, delimiter, path, rows_begin);
    std::vector<CsvCell> cells;
    for (size_t i = 0; i <= row; ++i) reader.next(cells);
    reader.fail_at(cells.at(target_columns[k]).at, message);
  }
  size_t at = size_t(cell.data() - all.data());
  for (const Unescaped& other : unescaped)
    if (other.text->data() == cell.data()) at = other.at;
  if (at > 0 && at <= all.size() && all[at - 1] == '"') --at;
  fail_at(at, message);
}

void Table::drop_targets() {
  for (auto& cells : targets) cells = {};
  rooms.clear();
}

bool Table::has_point(size_t row, size_t k) const {
  if (decimal != ',') return false;
  const std::string_view cell = targets[k][row], all = file->text();
  double value = 0;
  const bool as_written = cell.data() >= all.data() && cell.data() < all.data() + all.size();  // not 1,5 as 1.5
  return as_written && cell.find('.') != cell.npos && parse_number(cell, value);
}

void Table::fail_at(size_t at, const std::string& message) const {
  CsvReader(file->text(), delimiter, path).fail_at(at, message);
}

std::string Table::column_text(size_t column) const {
  return text("column ", names.empty() ? text(column) : in_quotes(names[column]));
}

std::string Table::target_text(size_t k) const {
  if (targets.size() == 1) return "the target";
  const size_t column = target_columns[k];
  return text("the target ", names.empty() ? text(column) : in_quotes(names[column]));
}

Table read_table(const CsvParams& params, const std::string& path, TableLayout& layout, const TableColumns* former,
                 bool plain) {
  return TableReader(params, path, former, plain).read(layout);
}

}  // namespace neon
