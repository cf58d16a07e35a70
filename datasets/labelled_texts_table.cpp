#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "datasets/csv.h"
#include "datasets/csv_columns.h"
#include "datasets/file.h"
#include "datasets/labelled_texts.h"
#include "datasets/table_header.h"
#include "datasets/text_file.h"
#include "neon/core/counted.h"
#include "neon/core/message.h"

namespace neon {

namespace {

constexpr const char* kText = "text";
constexpr const char* kLabel = "label";

// The columns of a table: `names` by its header, empty where it has none.
struct TextTable {
  std::vector<std::string> names;
  size_t count = 0;
  const std::string& path;
  std::vector<size_t> texts;
  size_t label = 0;

  // Finds both columns, or with `labelled` false that of the texts; whether the first line, which has these cells, is a
  // header.
  bool begin(const std::vector<CsvCell>& cells, const LabelledTextParams& params, bool labelled) {
    count = cells.size();
    for (const CsvCell& cell : cells) names.emplace_back(cell.text);
    const auto is_column = [&](const std::string& column) { return named(column).has_value(); };
    const bool is_named =
        named(kText) || named(kLabel) || named(params.label) || std::ranges::any_of(params.text.columns, is_column);
    const bool is_header = params.header == "true" || (params.header == "auto" && is_named);
    if (!is_header) names.clear();
    std::optional<size_t> other;
    if (params.label != kAutoColumn) other = labelled ? given(kLabel, params.label) : named(params.label);
    else other = named(kLabel);
    if (params.text == kAutoColumn) texts = {count == 1 && !labelled ? 0 : chosen(kText, 0, other)};
    else texts = given_texts(params.text.columns);
    for (const size_t column : texts) check_once(column);
    if (!labelled) return is_header;
    label = other ? *other : texts.size() == 1 ? chosen(kLabel, 1, texts[0]) : column_beside_texts();
    check_once(label);
    if (std::ranges::count(texts, label)) fail_about(kLabel, "text and label are one column of ", params.label);
    return is_header;
  }

 private:
  void check_once(size_t column) const {
    if (!names.empty() && std::ranges::count(names, names[column]) > 1)
      fail(ErrorKind::data, path, ": two columns are named ", in_quotes(names[column]), "; rename one of them");
  }

  [[noreturn]] void fail_about(const char* parameter, const std::string& what, const std::string& column) const {
    fail(ErrorKind::config, parameter, ": ", what, path, ", which has ",
         names.empty() ? neon::text(count, " columns without names, 0 to ", count - 1) : list_text(names),
         did_you_mean(column, names));
  }

  std::optional<size_t> named(const std::string& column) const {
    const auto found = std::ranges::find(names, column);
    if (found == names.end()) return {};
    return size_t(found - names.begin());
  }

  // By its name, or by its number.
  size_t given(const char* parameter, const std::string& column) const {
    if (const auto found = named(column)) return *found;
    double number = -1;
    if (parse_number(column, number) && number >= 0 && number < double(count) && number == double(size_t(number)))
      return size_t(number);
    fail_about(parameter, in_quotes(column) + " is no column of ", column);
  }

  std::vector<size_t> given_texts(const std::vector<std::string>& columns) const {
    std::vector<size_t> out;
    for (const std::string& column : columns) {
      out.push_back(given(kText, column));
      if (std::ranges::count(out, out.back()) > 1)
        fail(ErrorKind::config, kText, ": column ", in_quotes(column), " is named twice");
    }
    return out;
  }

  // The only one that is no text.
  size_t column_beside_texts() const {
    if (count != texts.size() + 1) fail_about(kLabel, "name its column of ", kLabel);
    size_t out = 0;
    while (std::ranges::count(texts, out)) ++out;
    return out;
  }

  // The column of that name; of two columns the one that `other` is not; without a header the one at `place`.
  size_t chosen(const char* parameter, size_t place, std::optional<size_t> other) const {
    if (const auto found = named(parameter)) return *found;
    if (count == 2) return other ? 1 - *other : place;
    if (names.empty() && place < count && other != place) return place;
    fail_about(parameter, "name its column of ", parameter);
  }
};

// Refuses what auto cannot know: a first line that alone has a class of its own, and a column of classes in which all
// differ.
void check_guesses(const std::vector<LabelledText>& texts, const LabelledTextParams& params, bool has_header) {
  std::map<std::string, size_t> counts;
  for (const LabelledText& one : texts) ++counts[one.label];
  const auto alone = size_t(std::ranges::count(counts | std::views::values, 1u));
  const LabelledText& first = texts.front();
  if (params.label == kAutoColumn && texts.size() > 2 && alone == texts.size())
    fail(ErrorKind::config, first.place, ": each text has a class of its own, as ", in_quotes(first.label),
         "; say which columns are text and label");
  if (params.header == "auto" && !has_header && texts.size() > 1 && alone == 1 && counts[first.label] == 1)
    fail(ErrorKind::config, first.place, ": ",
         unclear_header(text("only its class ", in_quotes(first.label), " occurs in one line alone")));
}

}  // namespace

namespace {

// A class may be named "none", and a table of pandas has "nan" where a class is missing.
void warn_of_missing(const std::vector<LabelledText>& texts, const std::string& path, const DataContext& context) {
  const MissingMarks missing(default_missing_marks());
  int64_t count = 0;
  const LabelledText* first = nullptr;
  for (const LabelledText& one : texts)
    if (missing.contains(one.label) && count++ == 0) first = &one;
  if (count > 0)
    context.warn(text(first->place, ": the class is ", in_quotes(first->label),
                      ", a mark of missing values in tables; ",
                      count == 1 ? "1 row has such a class" : text(count, " rows of ", path, " have such classes"),
                      "; remove them where the class is missing"));
}

// The cells of the first line; none where that character cannot stand between them.
std::vector<std::string> first_line_by(char delimiter, std::string_view content) try {
  std::vector<std::string> out;
  std::vector<CsvCell> cells;
  CsvReader reader(content, delimiter, "");
  if (reader.next(cells))
    for (const CsvCell& cell : cells) out.emplace_back(cell.text);
  return out;
} catch (const Error&) {
  return {};
}

// Without classes one cell may be a whole line, so that only names show what separates cells.
char delimiter_in(std::string_view content, const std::string& path, const LabelledTextParams& params, bool labelled) {
  if (params.delimiter != kAutoColumn) return delimiter_of(params.delimiter);
  if (lower(path).find(".tsv") != path.npos) return '\t';
  if (first_line_by(',', content).size() > 1) return ',';
  for (const char other : {';', '\t'}) {
    const std::vector<std::string> cells = first_line_by(other, content);
    const std::string wanted = params.text == kAutoColumn ? kText : params.text.columns[0];
    const bool has_text = std::ranges::count(cells, wanted) > 0;
    if (cells.size() > 1 && (labelled || has_text)) return other;
  }
  return ',';
}

// Several texts of a row with a line's end between them, and none within.
std::string joined_texts(const CsvReader& reader, const std::vector<CsvCell>& cells, const TextTable& table) {
  if (table.texts.size() == 1) return std::string(cells[table.texts[0]].text);
  std::string out;
  for (const size_t column : table.texts) {
    constexpr const char* kSpace = " \t\r\n";
    const std::string_view cell = cells[column].text;
    const size_t begin = std::min(cell.find_first_not_of(kSpace), cell.size());
    std::string one(cell.substr(begin, cell.find_last_not_of(kSpace) + 1 - begin));
    if (one.empty())
      reader.fail_at(cells[column].at,
                     text("the text of column ", table.names.empty() ? text(column) : in_quotes(table.names[column]),
                          " is missing"));
    std::ranges::replace_if(
        one, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    out += (out.empty() ? "" : "\n") + one;
  }
  return out;
}

std::vector<LabelledText> read_rows(std::string_view content, const LabelledTextParams& params, TextTable& table,
                                    bool labelled) {
  CsvReader reader(content, delimiter_in(content, table.path, params, labelled), table.path);
  CsvReader::KnownLine known;
  std::vector<CsvCell> cells;
  std::vector<LabelledText> out;
  while (reader.next(cells)) {
    if (table.count == 0 && table.begin(cells, params, labelled)) continue;
    if (cells.size() != table.count)
      reader.fail_at(cells[0].at,
                     text("this line has ", counted(int64_t(cells.size()), "cell"), ", the first has ", table.count,
                          labelled                ? ""
                          : table.path == "stdin" ? "; a first line without the name of the column of "
                                                    "texts makes all lines texts"
                                                  : "; lines of texts come by stdin: give - for the "
                                                    "file"));
    if (labelled && cells[table.label].text.empty()) reader.fail_at(cells[table.label].at, "the class is missing");
    out.push_back({joined_texts(reader, cells, table), labelled ? std::string(cells[table.label].text) : "",
                   reader.place(cells[table.texts[0]].at, known)});
  }
  if (out.empty()) fail(ErrorKind::data, table.path, ": has no texts");
  return out;
}

}  // namespace

std::vector<LabelledText> texts_without_classes(std::string_view content, const std::string& name,
                                                const LabelledTextParams& params, std::vector<std::string>& notes) {
  TextTable table{{}, 0, name, {}};
  std::vector<LabelledText> out = read_rows(content, params, table, false);
  if (table.names.empty() && table.count > 1 && params.header == "auto") {
    std::vector<std::string> columns;
    for (const size_t column : table.texts) columns.push_back(text(column));
    const std::string first = out.front().text.substr(0, out.front().text.find('\n'));
    notes.push_back(text("note: ", name, ": its first line names no column of texts; of ", table.count,
                         " columns the texts are column ", join(columns, " and "), ", from ", in_quotes(first), " on"));
  }
  return out;
}

bool names_texts(std::string_view content, const std::string& name, const LabelledTextParams& params) {
  const std::vector<std::string> cells = first_line_by(delimiter_in(content, name, params, false), content);
  const bool is_auto = params.text == kAutoColumn;
  return std::ranges::all_of(params.text.columns, [&](const std::string& column) {
    return std::ranges::count(cells, is_auto ? kText : column) > 0;
  });
}

bool are_indices(const TextColumns& columns) {
  return std::ranges::all_of(columns.columns, [](const std::string& one) {
    return !one.empty() && one.find_first_not_of("0123456789") == one.npos;
  });
}

bool has_rows_of_classes(std::string_view content, const std::string& name, const LabelledTextParams& params,
                         const std::vector<std::string>& classes) try {
  constexpr int kRows = 1000;
  CsvReader reader(content, delimiter_in(content, name, params, true), name);
  std::vector<CsvCell> cells;
  size_t count = 0, known = 0, others = 0;
  for (int row = 0; row < kRows && reader.next(cells); ++row) {
    if (row > 0 && cells.size() != count) return false;
    count = cells.size();
    const size_t label = params.label == kAutoColumn ? 1 : size_t(std::atoll(params.label.c_str()));
    const bool is_index = params.label == kAutoColumn || are_indices({{params.label}});
    if (!is_index || count < 2 || label >= count) return false;
    if (std::ranges::count(classes, cells[label].text)) ++known;
    else if (!cells[label].text.empty()) ++others;
  }
  return known > others;
} catch (const Error&) {
  return false;
}

std::optional<TextRoles> roles_of_columns(const std::string& path) {
  constexpr size_t kRows = 1000;
  const TextFile file(path);
  CsvReader reader(file.text(), delimiter_in(file.text(), path, {}, true), path);
  std::vector<CsvCell> cells;
  if (!reader.next(cells) || cells.size() < 3) return {};
  const auto has_space = [](std::string_view cell) { return cell.find(' ') != cell.npos; };
  std::vector<std::string> names;
  for (const CsvCell& cell : cells) names.emplace_back(cell.text);
  if (std::ranges::count(names, kText) || std::ranges::count(names, kLabel) || std::ranges::any_of(names, has_space))
    return {};
  std::vector<std::set<std::string>> different(names.size());
  std::vector<size_t> sentences(names.size());
  size_t rows = 0;
  for (; rows < kRows && reader.next(cells); ++rows)
    for (size_t i = 0; i < names.size() && cells.size() == names.size(); ++i)
      different[i].emplace(cells[i].text), sentences[i] += has_space(cells[i].text);
  TextRoles out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (2 * sentences[i] > rows) {
      out.texts.push_back(names[i]);
    } else if (2 * different[i].size() <= rows && !different[i].contains(names[i])) {
      if (!out.label.empty()) return {};
      out.label = names[i];
    }
  }
  if (out.texts.empty() || out.label.empty()) return {};
  return out;
}

std::vector<LabelledText> texts_of_table(const std::string& path, const LabelledTextParams& params,
                                         const DataContext& context) {
  const TextFile file(path);
  TextTable table{{}, 0, path, {}};
  std::vector<LabelledText> out = read_rows(file.text(), params, table, true);
  warn_of_missing(out, path, context);
  if (table.names.empty() && table.count > 2 && params.text == kAutoColumn && params.label == kAutoColumn)
    context.note(text(path, ": its first line names neither text nor label; of ", table.count,
                      " columns the texts are column ", table.texts[0], ", and the classes column ", table.label));
  check_guesses(out, params, !table.names.empty());
  return out;
}

}  // namespace neon
