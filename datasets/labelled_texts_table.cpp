#include <algorithm>
#include <map>
#include <optional>
#include <ranges>

#include "datasets/csv.h"
#include "datasets/csv_columns.h"
#include "datasets/file.h"
#include "datasets/labelled_texts.h"
#include "datasets/table_header.h"
#include "datasets/text_file.h"
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
  size_t text = 0, label = 0;

  // Finds both columns, or with `labelled` false that of the texts; whether the first line, which has these cells, is a
  // header.
  bool begin(const std::vector<CsvCell>& cells, const LabelledTextParams& params, bool labelled) {
    count = cells.size();
    for (const CsvCell& cell : cells) names.emplace_back(cell.text);
    const bool is_named = named(kText) || named(kLabel) || named(params.text) || named(params.label);
    const bool is_header = params.header == "true" || (params.header == "auto" && is_named);
    if (!is_header) names.clear();
    if (!labelled) {
      const std::optional<size_t> other = named(params.label == kAutoColumn ? kLabel : params.label);
      if (params.text == kAutoColumn) text = count == 1 ? 0 : chosen(kText, 0, other);
      else text = given(kText, params.text);
      check_once(text);
      return is_header;
    }
    const std::optional<size_t> other = params.label == kAutoColumn ? named(kLabel) : given(kLabel, params.label);
    text = params.text == kAutoColumn ? chosen(kText, 0, other) : given(kText, params.text);
    label = other ? *other : chosen(kLabel, 1, text);
    check_once(text), check_once(label);
    if (text == label) fail_about(kLabel, "text and label are one column of ", params.label);
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
    const bool has_text = std::ranges::count(cells, params.text == kAutoColumn ? kText : params.text) > 0;
    if (cells.size() > 1 && (labelled || has_text)) return other;
  }
  return ',';
}

std::vector<LabelledText> read_rows(std::string_view content, const LabelledTextParams& params, TextTable& table,
                                    bool labelled) {
  CsvReader reader(content, delimiter_in(content, table.path, params, labelled), table.path);
  std::vector<CsvCell> cells;
  std::vector<LabelledText> out;
  while (reader.next(cells)) {
    if (table.count == 0 && table.begin(cells, params, labelled)) continue;
    if (cells.size() != table.count)
      reader.fail_at(cells[0].at, text("this line has ", cells.size(), " cells, the first has ", table.count));
    if (labelled && cells[table.label].text.empty()) reader.fail_at(cells[table.label].at, "the class is missing");
    out.push_back({std::string(cells[table.text].text), labelled ? std::string(cells[table.label].text) : "",
                   reader.place(cells[table.text].at)});
  }
  if (out.empty()) fail(ErrorKind::data, table.path, ": has no texts");
  return out;
}

}  // namespace

std::vector<LabelledText> texts_without_classes(std::string_view content, const std::string& name,
                                                const LabelledTextParams& params, std::vector<std::string>& notes) {
  TextTable table{{}, 0, name};
  std::vector<LabelledText> out = read_rows(content, params, table, false);
  if (table.names.empty() && table.count > 1 && params.header == "auto")
    notes.push_back(text("note: ", name, ": its first line names no column of texts; column ", table.text,
                         " is taken, from ", in_quotes(out.front().text), " on"));
  return out;
}

std::vector<LabelledText> texts_of_table(const std::string& path, const LabelledTextParams& params,
                                         const DataContext& context) {
  const TextFile file(path);
  TextTable table{{}, 0, path};
  std::vector<LabelledText> out = read_rows(file.text(), params, table, true);
  warn_of_missing(out, path, context);
  check_guesses(out, params, !table.names.empty());
  return out;
}

}  // namespace neon
