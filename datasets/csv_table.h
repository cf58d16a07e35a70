// A CSV file as a table of features and target cells, before the target has a meaning.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/table_cell.h"
#include "datasets/text_file.h"

namespace neon {

struct CsvParams {
  std::string path;
  std::string target = "last";
  std::string header = "auto";
  std::string delimiter = ",";
  std::string task = "auto";
  std::string test = "0.2";
  std::vector<std::string> ignore;
  std::vector<std::string> missing = default_missing_marks();
  static void describe(auto&& p) {
    p("path", &CsvParams::path, "Path of the table, plain or gzip.", Required{});
    p("target", &CsvParams::target, "Column to predict: its name, its index from 0, or last.");
    p("header", &CsvParams::header,
      "Whether the first line names the columns. auto: it does if it has only texts, missing marks aside, in the "
      "columns of numbers (neither target nor ignored). neon refuses a first line that could be both.",
      one_of({"auto", "true", "false"}));
    p("delimiter", &CsvParams::delimiter, "The character between cells, or tab.");
    p("task", &CsvParams::task,
      "Kind of the target. auto: classes if it is text or the whole numbers 0 to k - 1, values if it has fractions. "
      "neon refuses other whole numbers. Classes that are all numbers are compared as numbers: 1 is 1.0.",
      one_of({"auto", "classes", "regression"}), Alias{"classes"});
    p("test", &CsvParams::test,
      "Samples to test with: a file like this one, or the share (0 to 1) of this one, drawn by the seed, from each "
      "class in "
      "proportion.");
    p("ignore", &CsvParams::ignore, "Columns to leave out, by name or index.");
    p("missing", &CsvParams::missing,
      "Marks of a missing value beside the empty cell; letter case does not matter. A missing value is refused, as a "
      "number and as a class: [] makes all of them texts.");
  }
};

struct Table {
  std::string path;
  std::shared_ptr<const TextFile> file;
  std::vector<std::string> names;  // of all columns; empty without a header
  size_t columns = 0;
  char delimiter = ',';
  Tensor features;                        // (rows, used columns) f32
  std::vector<std::string_view> targets;  // by row; in the file's text, or in `unescaped`
  // Targets that had "" in them, and where they stand.
  struct Unescaped {
    std::unique_ptr<const std::string> text;
    size_t at;
  };
  std::vector<Unescaped> unescaped;

  // "data.csv:3:14: message", of the target of that row.
  [[noreturn]] void fail_at_target(size_t row, const std::string& message) const;
};

// Which columns are features, and which one is the target.
struct TableLayout {
  size_t target = 0;
  std::vector<bool> feature;
  size_t features = 0;
};

// Reads all of it, with all threads where no cell is quoted. Throws a data error with file:line:column for a fault in
// the file. Throws a config error for a column that does not exist, and for a first line that may be a header or a
// sample.
Table read_table(const CsvParams& params, const std::string& path, TableLayout& layout);

}  // namespace neon
