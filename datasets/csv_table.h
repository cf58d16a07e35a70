// A CSV file as a table of features and target cells, before the target has a meaning.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/csv_dialect.h"
#include "datasets/dataset.h"
#include "datasets/table_cell.h"
#include "datasets/text_file.h"

namespace neon {

// A kind that `columns` gives a column: a word, or of one that is embedded the numbers of a row, too.
struct ColumnChoice {
  std::string kind;   // "": neon's choice
  int64_t width = 0;  // 0: neon's choice
  bool operator==(const ColumnChoice&) const = default;
};
template <>
struct Value_of<ColumnChoice> {
  static std::string type() { return "kind"; }
  static void read(const Setting& from, ColumnChoice& out, const Constraint& constraint, Problems& problems);
  static Setting write(const ColumnChoice& value);
};

struct CsvParams {
  std::string path;
  std::vector<std::string> target = {"last"};
  std::vector<std::pair<std::string, std::string>> targets;
  std::string header = "auto";
  std::string delimiter = "auto";
  std::string decimal = "auto";
  std::string task = "auto";
  std::string test = "auto";
  std::vector<std::string> ignore;
  std::vector<std::pair<std::string, ColumnChoice>> columns;
  bool standardize = true, impute = true;
  int64_t most_categories = 100, embed_above = 100, most_embedded = 10000;
  std::vector<std::string> missing = default_missing_marks();
  static void describe(auto&& p) {
    p("path", &CsvParams::path, "Path of the table, plain or gzip.", Required{});
    p("target", &CsvParams::target,
      "Column to predict: its name, its index from 0, or last. A list of columns, as [x, y], is one target of several "
      "numbers.");
    p("targets", &CsvParams::targets,
      "Columns to predict in place of target, each by an output of its own (`outputs` of the spec), by name or index: "
      "number, classes, or labels, of which a cell has any number, as in red;round. Example: {price: number, grade: "
      "classes}.",
      one_of({"number", "classes", "labels"}));
    p("header", &CsvParams::header,
      "Whether the first line names the columns. auto: it does if it has only texts, missing marks aside, in the "
      "columns of numbers (neither target nor ignored). neon refuses a first line that could be both.",
      one_of({"auto", "true", "false"}));
    p("delimiter", &CsvParams::delimiter, kDelimiterHelp);
    p("decimal", &CsvParams::decimal, kDecimalHelp, one_of({"auto", "point", "comma"}));
    p("task", &CsvParams::task,
      "Kind of the target. auto: classes if it is text or the whole numbers 0 to k - 1, values if it has fractions. "
      "neon refuses other whole numbers. Classes that are all numbers are compared as numbers: 1 is 1.0.",
      one_of({"auto", "classes", "regression"}), Alias{"classes"});
    p("test", &CsvParams::test,
      "Samples to test with: a file like this one, or the share (0 to 1) of this one, drawn by the seed, from each "
      "class in proportion. auto: 0.2, or none with folds.");
    p("ignore", &CsvParams::ignore, "Columns to leave out, by name or index.");
    p("columns", &CsvParams::columns,
      "Kinds of columns, by name or index, where neon's choice is not yours: number, as_is (a number that is not "
      "standardised), category, boolean, date, or ignore. one_hot gives most_categories of a column a number each. "
      "embed gives each a row of a trained table, of 16 numbers in {city: {embed: 16}}. For dates such as 3/4/2024 or "
      "23-01-20 day_first, month_first or year_first say which part stands first; years of two digits are 1969 to "
      "2068. Example: {zip: category, age: as_is, sold: day_first}.",
      one_of({"number", "as_is", "category", "one_hot", "embed", "boolean", "date", "day_first", "month_first",
              "year_first", "ignore"}));
    p("standardize", &CsvParams::standardize,
      "Brings each column of numbers, and targets of values, to mean 0 and deviation 1, measured on the training "
      "rows; "
      "neon predict turns outputs back.");
    p("impute", &CsvParams::impute,
      "Puts the mean of the training rows, or no category, in place of a missing value, and adds a number that says "
      "where values are missing. false: neon refuses missing values.");
    p("most_categories", &CsvParams::most_categories,
      "Categories of a column that get a number of their own: the most frequent of the training rows.", at_least(1));
    p("embed_above", &CsvParams::embed_above,
      "A column of more categories than this, and than most_categories, is embedded: the net looks up a row of a "
      "trained table for each, of round(1.6 rows^0.56) numbers, at most 600. Categories of one training row share a "
      "row with missing and unknown ones.",
      at_least(1));
    p("most_embedded", &CsvParams::most_embedded,
      "Categories of an embedded column that get a row of their own: the most frequent of the training rows.",
      closed(1, 1 << 24));
    p("missing", &CsvParams::missing,
      "Marks of a missing value beside the empty cell; letter case does not matter. [] makes all of them texts. A "
      "missing target is refused.");
  }
};

// The different texts of a column of texts.
struct ColumnTexts {
  std::vector<std::string> texts;  // by their code, which stands in the table's features
  std::vector<int64_t> rows;       // that have each
  std::vector<size_t> first;       // the place of the first of them, in the file's text
};

struct Table {
  std::string path;
  std::shared_ptr<const TextFile> file;
  std::string_view head;           // the first lines, for messages, where `file` is null
  std::vector<std::string> names;  // of all columns; empty without a header
  size_t columns = 0;
  char delimiter = ',', decimal = '.';
  Tensor features;                      // (rows, used columns) f32: numbers, or codes of texts; NaN: missing
  std::map<size_t, ColumnTexts> texts;  // of the columns of texts, by their place among the features
  std::vector<size_t> target_columns;
  std::vector<std::vector<std::string_view>> targets;  // of each, by row; in the file's text, `unescaped` or `rooms`
  size_t rows_begin = 0;                               // in the file's text
  // Memory of targets, where the file's text was never in memory as a whole.
  std::vector<std::unique_ptr<std::pmr::monotonic_buffer_resource>> rooms;
  // Targets that had "" in them, and where they stand.
  struct Unescaped {
    std::unique_ptr<const std::string> text;
    size_t at;
  };
  std::vector<Unescaped> unescaped;

  // "data.csv:3:14: message", of target k of that row, or of a byte of the file's text.
  [[noreturn]] void fail_at_target(size_t row, size_t k, const std::string& message) const;
  [[noreturn]] void fail_at(size_t at, const std::string& message) const;
  // Frees the memory of the cells of targets.
  void drop_targets();
  // Whether a cell of target k has a decimal point where the table has commas: as 1.234, which may be 1234.
  bool has_point(size_t row, size_t k) const;
  // "column 'price'", or "column 2" without a header.
  std::string column_text(size_t column) const;
  // "the target", of several "the target 'price'".
  std::string target_text(size_t k) const;
};

// The cells that a column may have. `any`: numbers, or else texts.
enum class CellUse : uint8_t { any, number, text };

// Which columns are features, and which are targets.
struct TableLayout {
  std::vector<size_t> targets;
  std::vector<bool> feature;
  std::vector<CellUse> use;         // by column; only those of features count
  std::vector<ColumnChoice> kinds;  // by column, as `columns` has them
  size_t features = 0;
  bool is_target(size_t column) const { return std::ranges::count(targets, column) > 0; }
};

// Throws a config error where both `target` and `targets` are given, or `task` beside `targets`.
void check_targets(const CsvParams& params);

// Reads all of it, with all threads. A large file without quotes is read in pieces. A column with a text is a column of
// texts. `former` has the features and their kinds where another table has decided them; `plain`: all columns are
// numbers. Throws a data error with file:line:column for a fault in the file. Throws a config error for a column
// that does not exist, and for a first line that may be a header or a sample.
Table read_table(const CsvParams& params, const std::string& path, TableLayout& layout,
                 const TableColumns* former = nullptr, bool plain = false);

}  // namespace neon
