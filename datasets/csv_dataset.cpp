// A table of numbers as text, one column of which is to be predicted.
#include <algorithm>
#include <cmath>

#include "datasets/csv.h"
#include "datasets/dataset.h"
#include "datasets/gzip.h"

namespace neon {

namespace {

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

struct Cell {
  std::string text;
  int64_t line, column;
};

struct Table {
  std::string path;
  std::vector<std::string> names;  // of all columns; empty without a header
  size_t columns = 0;
  std::vector<float> features;  // rows x used columns
  std::vector<Cell> targets;
  [[noreturn]] void fail_at(const Cell& cell, const std::string& message) const {
    fail(ErrorKind::data, path, ":", cell.line, ":", cell.column, ": ", message);
  }
};

// Whether target cells are class labels, and of which class.
struct Classes {
  std::vector<std::string> names;  // empty: values to regress to
};

char delimiter_of(const std::string& written) {
  if (written == "tab" || written == "\\t" || written == "\t") return '\t';
  if (written.size() == 1 && written != "\"" && written != "\n" && written != "\r") return written[0];
  fail(ErrorKind::config, "delimiter: '", written, "' is not one character (or tab)");
}

// Index of the column of that name or number.
size_t column_of(const std::string& written, const Table& table, const char* parameter) {
  for (size_t i = 0; i < table.names.size(); ++i)
    if (table.names[i] == written) return i;
  double number = 0;
  if (parse_number(written, number) && number == std::floor(number)) {
    if (number >= 0 && number < double(table.columns)) return size_t(number);
    fail(ErrorKind::config, parameter, ": there is no column ", written, ": ", table.path, " has columns 0 to ",
         table.columns - 1);
  }
  if (table.names.empty())
    fail(ErrorKind::config, parameter, ": '", written, "' is a name, but ", table.path,
         " is read without a header: give an index from 0, or header: true");
  fail(ErrorKind::config, parameter, ": ", table.path, " has no column '", written, "'",
       did_you_mean(written, table.names), " (it has ", join(table.names, ", "), ")");
}

// Which columns are features, and which one is the target.
struct Layout {
  size_t target = 0;
  std::vector<bool> feature;
  size_t features = 0;
};

Layout layout_of(const CsvParams& params, const Table& table) {
  Layout out;
  out.feature.assign(table.columns, true);
  for (const std::string& name : params.ignore) out.feature[column_of(name, table, "ignore")] = false;
  const bool named_last = std::ranges::count(table.names, "last") > 0;
  out.target = params.target == "last" && !named_last ? table.columns - 1 : column_of(params.target, table, "target");
  if (!out.feature[out.target]) fail(ErrorKind::config, "ignore: column ", params.target, " is the target");
  out.feature[out.target] = false;
  out.features = size_t(std::ranges::count(out.feature, true));
  if (out.features == 0) fail(ErrorKind::data, table.path, ": no columns are left beside the target");
  return out;
}

bool is_header(const CsvParams& params, const std::vector<CsvCell>& first) {
  if (params.header != "auto") return params.header == "true";
  // The target may be text in every row, so it says nothing; which column it is may be known by name only.
  double number = 0;
  size_t texts = 0, named_target = 0;
  for (const CsvCell& cell : first) {
    texts += !parse_number(cell.text, number);
    named_target += cell.text == params.target;
  }
  const bool last_is_text = !first.empty() && !parse_number(first.back().text, number);
  if (params.target == "last") return texts > size_t(last_is_text);
  return named_target > 0 || texts > 1;
}

class TableReader {
 public:
  TableReader(const CsvParams& params, const std::string& path)
      : params_(params), text_(read_maybe_gzip(path)), reader_(text_, delimiter_of(params.delimiter), path) {
    table_.path = path;
  }

  Table read(Layout& layout) {
    std::vector<CsvCell> cells;
    if (!reader_.next(cells)) fail(ErrorKind::data, table_.path, ": is empty");
    table_.columns = cells.size();
    const bool header = is_header(params_, cells);
    if (header) read_names(cells);
    layout = layout_of(params_, table_);
    if (!header) add_row(cells, layout);
    while (reader_.next(cells)) add_row(cells, layout);
    if (table_.targets.empty()) fail(ErrorKind::data, table_.path, ": has no rows below its header");
    return std::move(table_);
  }

 private:
  void read_names(const std::vector<CsvCell>& cells) {
    for (const CsvCell& cell : cells) {
      if (std::ranges::count(table_.names, cell.text) > 0)
        reader_.fail_at(cell, text("two columns are named '", cell.text, "'"));
      table_.names.emplace_back(cell.text);
    }
  }

  std::string column_text(size_t i) const {
    return table_.names.empty() ? text("column ", i) : text("column '", table_.names[i], "'");
  }

  void add_row(const std::vector<CsvCell>& cells, const Layout& layout) {
    if (cells.size() != table_.columns)
      reader_.fail_at(cells.back(), text("this row has ", cells.size(), " cells, the first row ", table_.columns));
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i == layout.target) table_.targets.push_back({std::string(cells[i].text), cells[i].line, cells[i].column});
      if (!layout.feature[i]) continue;
      double value = 0;
      if (!parse_number(cells[i].text, value) || !std::isfinite(float(value)))
        reader_.fail_at(cells[i], text(column_text(i), ": expected a number, found '", cells[i].text.substr(0, 40), "'",
                                       cells[i].text.empty() ? "; fill in or remove rows with missing values"
                                                             : "; a column of text can be left out with ignore"));
      table_.features.push_back(float(value));
    }
  }

  const CsvParams& params_;
  std::string text_;
  CsvReader reader_;
  Table table_;
};

// Whole numbers by value, anything else byte by byte.
void sort_names(std::vector<std::string>& names, bool numbers) {
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    double x = 0, y = 0;
    if (numbers && parse_number(a, x) && parse_number(b, y) && x != y) return x < y;
    return a < b;
  });
}

Classes classes_of(const CsvParams& params, const Table& table) {
  bool all_numbers = true, all_whole = true;
  double largest = -1, smallest = 0, value = 0;
  for (const Cell& cell : table.targets) {
    if (cell.text.empty()) table.fail_at(cell, "the target is empty; fill in or remove rows with missing values");
    if (!parse_number(cell.text, value)) {
      all_numbers = all_whole = false;
      continue;
    }
    all_whole = all_whole && value == std::floor(value);
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
  }
  if (params.task == "regression" || (params.task == "auto" && all_numbers && !all_whole)) return {};
  Classes out;
  for (const Cell& cell : table.targets) out.names.push_back(cell.text);
  sort_names(out.names, all_numbers);
  out.names.erase(std::unique(out.names.begin(), out.names.end()), out.names.end());
  if (params.task == "auto" && all_numbers && (smallest < 0 || largest + 1 != double(out.names.size())))
    fail(ErrorKind::config, table.path, ": the target has ", out.names.size(), " different whole numbers up to ",
         largest, ", not 0 to k - 1: say task: classes or task: regression");
  if (out.names.size() < 2)
    fail(ErrorKind::data, table.path, ": every target is '", out.names.front(), "': there is only one class");
  return out;
}

Split split_of(const Table& table, const Classes& classes, size_t features) {
  const auto n = int64_t(table.targets.size());
  Split out{Tensor(DType::f32, {n, int64_t(features)}), {}};
  std::ranges::copy(table.features, out.inputs.as<float>().begin());
  if (classes.names.empty()) out.targets = Tensor(DType::f32, {n, 1});
  else out.targets = Tensor(DType::i32, {n});
  for (int64_t i = 0; i < n; ++i) {
    const Cell& cell = table.targets[size_t(i)];
    if (classes.names.empty()) {
      double value = 0;
      if (!parse_number(cell.text, value) || !std::isfinite(float(value)))
        table.fail_at(cell, text("the target: expected a number, found '", cell.text.substr(0, 40), "'"));
      out.targets.set(i, value);
    } else {
      const auto found = std::ranges::find(classes.names, cell.text);
      if (found == classes.names.end())
        table.fail_at(cell, text("class '", cell.text, "' is not one of the training file's",
                                 did_you_mean(cell.text, classes.names)));
      out.targets.set(i, double(found - classes.names.begin()));
    }
  }
  return out;
}

class CSV : public Parametrized<Dataset, CsvParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    return load_file(find_data_file(params.path, context), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    std::string looked_for;
    const std::string path = find_data_file(params.path, context, looked_for);
    if (path.empty()) {
      out.missing = looked_for;
      return out;
    }
    const Data data = load_file(path, context);
    out.found = true;
    out.source = data.source;
    out.sample = data.sample;
    out.classes = data.classes;
    out.train_size = data.train.size();
    out.test_size = data.test.size();
    out.validation_size = data.validation.size();
    return out;
  }

 private:
  Data load_file(const std::string& path, const DataContext& context) const {
    Layout layout;
    const Table table = TableReader(params, path).read(layout);
    const Classes classes = classes_of(params, table);
    Split all = split_of(table, classes, layout.features);
    Data data;
    data.source = path;
    double part = 0;
    if (parse_number(params.test, part)) {
      if (!(part >= 0 && part < 1))
        fail(ErrorKind::config, "test: ", params.test, " is not a file, nor a part in [0, 1)");
      const auto n = all.size();
      const auto test_count = int64_t(std::llround(part * double(n)));
      if (test_count >= n)
        fail(ErrorKind::data, path, ": ", n, " rows are too few to test with ", params.test, " of them");
      split_rows(all, drawn_order(n, context.seed, "csv/test"), n - test_count, data.train, data.test);
    } else {
      data.train = std::move(all);
      data.test = read_test(table, classes, layout, context);
    }
    data.sample = {int64_t(layout.features)};
    data.classes = int64_t(classes.names.size());
    data.class_names = classes.names;
    return finish(std::move(data), context);
  }

  Split read_test(const Table& train, const Classes& classes, const Layout& layout, const DataContext& context) const {
    CsvParams same = params;
    if (same.header == "auto") same.header = train.names.empty() ? "false" : "true";
    Layout test_layout;
    const Table table = TableReader(same, find_data_file(params.test, context)).read(test_layout);
    if (table.columns != train.columns || table.names != train.names)
      fail(ErrorKind::data, table.path, ": its columns are not those of ", train.path,
           table.columns == train.columns ? " (the names differ)" : text(": ", table.columns, " and ", train.columns));
    return split_of(table, classes, layout.features);
  }
};

NEON_REGISTER(Dataset, CSV, "A table of numbers as text, one column of which is predicted.");

}  // namespace

}  // namespace neon
