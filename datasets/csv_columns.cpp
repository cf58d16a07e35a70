#include "datasets/csv_columns.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "datasets/csv_dialect.h"

namespace neon {

namespace {

std::string shown(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  std::vector<std::string> first;
  for (const std::string& name : names) {
    if (first.size() == kMost) break;
    first.push_back(in_quotes(name));
  }
  return join(first, ", ") + (names.size() > kMost ? text(" and ", names.size() - kMost, " more") : "");
}

// The advice about a table whose lines another mark may split, or that begins with Excel's note of the mark; else "".
std::string mark_advice(const Table& table) {
  const std::string_view head = table.file ? table.file->head() : table.head;
  const bool has_note = !table.names.empty() && lower(table.names[0]).starts_with("sep=");
  if (table.columns != 1) return has_note ? other_delimiter_text(head, table.delimiter) : "";
  return text("; cells are separated by ", in_quotes(std::string(1, table.delimiter)), " (delimiter)",
              other_delimiter_text(head, table.delimiter));
}

// Whether the text is an index: digits only.
bool is_index(const std::string& written) {
  return !written.empty() && written.find_first_not_of("0123456789") == written.npos;
}

class ColumnFinder {
 public:
  explicit ColumnFinder(const Table& table) : table_(table) {
    for (size_t i = 0; i < table.names.size(); ++i) by_name_.emplace(table.names[i], i);
  }

  bool has(const std::string& name) const { return by_name_.contains(name); }

  // Index of the column of that name or number.
  size_t find(const std::string& written, const char* parameter) const {
    const auto found = by_name_.find(written);
    size_t index = table_.columns;
    if (is_index(written)) {
      const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), index);
      if (error != std::errc()) index = table_.columns;
    }
    if (found != by_name_.end()) {
      if (index < table_.columns && index != found->second)
        fail(ErrorKind::config, parameter, ": ", written, " is the name of column ", found->second, " of ", table_.path,
             " and the index of column ", in_quotes(table_.names[index]), "; rename one of them");
      return found->second;
    }
    if (index < table_.columns) return index;
    if (is_index(written))
      fail(ErrorKind::config, parameter, ": there is no column ", written, ": ", table_.path, " has columns 0 to ",
           table_.columns - 1, mark_advice(table_));
    if (table_.names.empty())
      fail(ErrorKind::config, parameter, ": '", written, "' is a name, but ", table_.path,
           " is read without a header: give an index from 0, or header: true", mark_advice(table_));
    fail(ErrorKind::config, parameter, ": ", table_.path, " has no column '", written, "'",
         did_you_mean(written, table_.names), " (it has ", shown(table_.names), ")", mark_advice(table_));
  }

  std::vector<size_t> targets(const CsvParams& params) const {
    std::vector<size_t> out;
    const auto add = [&](size_t column, const std::string& written, const char* parameter) {
      if (std::ranges::count(out, column)) fail(ErrorKind::config, parameter, ": ", written, " is named twice");
      out.push_back(column);
    };
    for (const auto& [name, kind] : params.targets) add(find(name, "targets"), name, "targets");
    if (!out.empty()) return out;
    for (const std::string& name : params.target) add(target(name), name, "target");
    if (out.empty()) fail(ErrorKind::config, "target: names no column");
    return out;
  }

 private:
  size_t target(const std::string& written) const {
    const size_t last = table_.columns - 1;
    if (written != "last") return find(written, "target");
    const auto found = by_name_.find("last");
    if (found != by_name_.end() && found->second != last)
      fail(ErrorKind::config, "target: last is the name of column ", found->second, " of ", table_.path,
           ", which is not the last column; give the target's index, ", found->second, " or ", last);
    return last;
  }

  const Table& table_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

}  // namespace

char delimiter_of(const std::string& written) {
  if (written == "tab" || written == "\\t" || written == "\t") return '\t';
  if (written.size() == 1 && written != "\"" && written != "\n" && written != "\r") return written[0];
  fail(ErrorKind::config, "delimiter: '", written, "' is not one character (or tab)");
}

bool names_columns(const CsvParams& params) {
  const auto is_name = [](const std::string& column) { return column != "last" && !is_index(column); };
  return std::ranges::any_of(params.target, is_name) ||
         !std::ranges::all_of(params.targets, [](const auto& column) { return is_index(column.first); }) ||
         !std::ranges::all_of(params.ignore, [](const std::string& column) { return is_index(column); }) ||
         !std::ranges::all_of(params.columns, [](const auto& column) { return is_index(column.first); });
}

std::vector<std::string> header_names(const std::vector<CsvCell>& cells, const CsvReader& reader) {
  std::vector<std::string> out;
  std::unordered_set<std::string_view> known;
  for (const CsvCell& cell : cells) {
    if (!known.insert(cell.text).second)
      reader.fail_at(cell.at, text("two columns are named ", in_quotes(cell.text), "; rename one of them"));
    if (!is_utf8(cell.text))
      reader.fail_at(cell.at, text("the name ", in_quotes(cell.text), " is not UTF-8; save the file as UTF-8"));
    out.emplace_back(cell.text);
  }
  return out;
}

size_t column_at(const Table& table, const std::string& written, const char* parameter) {
  return ColumnFinder(table).find(written, parameter);
}

namespace {

// The columns that a net was trained with, by name or else by place.
void take_former(const TableColumns& former, const Table& table, TableLayout& out) {
  const ColumnFinder columns(table);
  out.feature.assign(table.columns, false);
  for (size_t k = 0; k < former.codes.size(); ++k) {
    const bool named = !former.features.empty() && !table.names.empty();
    if (named && !columns.has(former.features[k]))
      fail(ErrorKind::data, table.path, ": its columns are not those of the table trained with: it has no column ",
           in_quotes(former.features[k]), did_you_mean(former.features[k], table.names));
    const auto place = named ? columns.find(former.features[k], "columns") : size_t(former.positions[k]);
    if (place >= table.columns || out.is_target(place) || out.feature[place])
      fail(ErrorKind::data, table.path, ": its columns are not those of the table trained with");
    out.feature[place] = true;
    out.use[place] = former.codes[k].kind == ColumnKind::number ? CellUse::number : CellUse::text;
  }
}

}  // namespace

TableLayout layout_of(const CsvParams& params, const Table& table, const TableColumns* former, bool plain) {
  const ColumnFinder columns(table);
  TableLayout out;
  out.feature.assign(table.columns, true);
  if (!former)  // which has decided
    for (const std::string& name : params.ignore) out.feature[columns.find(name, "ignore")] = false;
  out.targets = columns.targets(params);
  out.kinds.resize(table.columns);
  out.use.assign(table.columns, CellUse::any);
  for (const auto& [name, choice] : params.columns) {
    const std::string& kind = choice.kind;
    if (former && kind == "ignore") continue;
    const size_t column = columns.find(name, "columns");
    if (out.is_target(column))
      fail(ErrorKind::config, "columns: ", name, " is ", params.targets.empty() ? "the" : "a", " target; ",
           params.targets.empty() ? "`task` says whether it has classes or numbers" : "`targets` says its kind");
    if (!out.kinds[column].kind.empty()) fail(ErrorKind::config, "columns: ", name, " is named twice");
    out.kinds[column] = choice;
    out.use[column] = kind == "number" || kind == "as_is" ? CellUse::number : CellUse::text;
    if (kind == "ignore") out.feature[column] = false;
  }
  if (plain) out.use.assign(table.columns, CellUse::number);
  if (former) take_former(*former, table, out);
  for (const size_t target : out.targets) {
    if (!former && !out.feature[target])
      fail(ErrorKind::config, "ignore: ", table.column_text(target), " is ",
           out.targets.size() == 1 ? "the target" : "a target");
    out.feature[target] = false;
  }
  out.features = size_t(std::ranges::count(out.feature, true));
  if (out.features == 0)
    fail(ErrorKind::data, table.path, ": no columns are left beside the target", mark_advice(table));
  return out;
}

}  // namespace neon
