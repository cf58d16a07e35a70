// A CSV file as a table of features and target cells, before the target has a meaning.
#pragma once
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

struct CsvParams {
  std::string path;
  std::string target = "last";
  std::string header = "auto";
  std::string delimiter = ",";
  std::string task = "auto";
  std::string test = "0.2";
  std::vector<std::string> ignore;
  static void describe(auto&& p) {
    p("path", &CsvParams::path, "The file, plain or gzip.", Required{});
    p("target", &CsvParams::target, "Column to predict: its name, its index from 0, or last.");
    p("header", &CsvParams::header,
      "Whether the first line names the columns; auto: when it has text beside the target.",
      one_of({"auto", "true", "false"}));
    p("delimiter", &CsvParams::delimiter, "What stands between cells: one character, or tab.");
    p("task", &CsvParams::task,
      "What the target is; auto: classes when it is text or the whole numbers 0 to k - 1, else values.",
      one_of({"auto", "classes", "regression"}), Alias{"classes"});
    p("test", &CsvParams::test, "Samples to test with: a file like this one, or the part (0 to 1) drawn by the seed.");
    p("ignore", &CsvParams::ignore, "Columns left out: names or indices.");
  }
};

struct TargetCell {
  std::string text;
  int64_t line, column;
};

struct Table {
  std::string path;
  std::vector<std::string> names;  // of all columns; empty without a header
  size_t columns = 0;
  char delimiter = ',';
  std::vector<float> features;  // rows x used columns
  std::vector<TargetCell> targets;
  [[noreturn]] void fail_at(const TargetCell& cell, const std::string& message) const {
    fail(ErrorKind::data, path, ":", cell.line, ":", cell.column, ": ", message);
  }
};

// Which columns are features, and which one is the target.
struct TableLayout {
  size_t target = 0;
  std::vector<bool> feature;
  size_t features = 0;
};

// Reads all of it. Throws a data error with file:line:column for what is wrong in the file, a config error for
// a column that is not there.
Table read_table(const CsvParams& params, const std::string& path, TableLayout& layout);

}  // namespace neon
