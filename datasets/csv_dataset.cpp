// A table of numbers as text, one column of which is to be predicted.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "datasets/csv.h"
#include "datasets/csv_table.h"
#include "datasets/dataset.h"

namespace neon {

namespace {

// Whole numbers by value, anything else byte by byte.
void sort_names(std::vector<std::string>& names, bool numbers) {
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    double x = 0, y = 0;
    if (numbers && parse_number(a, x) && parse_number(b, y) && x != y) return x < y;
    return a < b;
  });
}

// Sorted names of the classes; none: the targets are values to regress to.
std::vector<std::string> classes_of(const CsvParams& params, const Table& table) {
  bool all_numbers = true, all_whole = true;
  double largest = -1, smallest = 0, value = 0;
  for (const TargetCell& cell : table.targets) {
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
  std::vector<std::string> out;
  for (const TargetCell& cell : table.targets) {
    if (!is_utf8(cell.text))
      table.fail_at(cell, text("the class ", in_quotes(cell.text), " is not UTF-8; save the file as UTF-8"));
    out.push_back(cell.text);
  }
  sort_names(out, all_numbers);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (params.task == "auto" && all_numbers && (smallest < 0 || largest + 1 != double(out.size())))
    fail(ErrorKind::config, table.path, ": the target has ", out.size(), " different whole numbers up to ", largest,
         ", not 0 to k - 1: say task: classes or task: regression");
  if (out.size() < 2)
    fail(ErrorKind::data, table.path, ": every target is ", in_quotes(out.front()), ": there is only one class");
  return out;
}

Split split_of(const Table& table, const std::vector<std::string>& classes, size_t features) {
  const auto n = int64_t(table.targets.size());
  Split out{Tensor(DType::f32, {n, int64_t(features)}), {}};
  std::ranges::copy(table.features, out.inputs.as<float>().begin());
  if (classes.empty()) out.targets = Tensor(DType::f32, {n, 1});
  else out.targets = Tensor(DType::i32, {n});
  std::unordered_map<std::string_view, size_t> index;
  for (size_t c = 0; c < classes.size(); ++c) index[classes[c]] = c;
  for (int64_t i = 0; i < n; ++i) {
    const TargetCell& cell = table.targets[size_t(i)];
    if (classes.empty()) {
      double value = 0;
      if (!parse_f32(cell.text, value)) table.fail_at(cell, "the target: " + no_f32_text(cell.text));
      out.targets.set(i, value);
    } else {
      const auto found = index.find(cell.text);
      if (found == index.end())
        table.fail_at(cell, text("class ", in_quotes(cell.text), " is not one of the training file's",
                                 did_you_mean(cell.text, classes)));
      out.targets.set(i, double(found->second));
    }
  }
  return out;
}

TableColumns columns_of(const Table& table, const TableLayout& layout) {
  TableColumns out{int64_t(table.columns), {}, {}, table.delimiter};
  for (size_t i = 0; i < table.names.size(); ++i)
    (layout.feature[i] ? out.features : out.others).push_back(table.names[i]);
  return out;
}

class CSV : public Parametrized<Dataset, CsvParams> {
 public:
  explicit CSV(CsvParams given) : Parametrized(std::move(given)) {
    double part = 0;
    if (parse_number(params.test, part) && !(part >= 0 && part < 1))
      fail(ErrorKind::config, "test: ", params.test, " is not a file, nor a part in [0, 1)");
  }

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
    if (!common.autoencoder)
      out.target = data.train.targets.shape().rank() > 1 ? data.train.targets.shape().slice(1, 2) : Shape{1};
    out.classes = data.classes;
    out.train_size = data.train.size();
    out.test_size = data.test.size();
    out.validation_size = data.validation.size();
    return out;
  }

 private:
  Data load_file(const std::string& path, const DataContext& context) const {
    TableLayout layout;
    const Table table = read_table(params, path, layout);
    const std::vector<std::string> classes = classes_of(params, table);
    Split all = split_of(table, classes, layout.features);
    Data data;
    data.source = path;
    double part = 0;
    if (parse_number(params.test, part)) {
      const auto n = all.size();
      const auto test_count = int64_t(std::llround(part * double(n)));
      if (test_count >= n || (part > 0 && test_count == 0))
        fail(ErrorKind::data, path, ": ", n, " rows are too few to test with ", params.test, " of them");
      split_rows(all, drawn_order(n, context.seed, "csv/test"), n - test_count, data.train, data.test);
    } else {
      data.train = std::move(all);
      data.test = read_test(table, classes, layout, context);
    }
    data.sample = {int64_t(layout.features)};
    data.classes = int64_t(classes.size());
    data.class_names = classes;
    data.table = columns_of(table, layout);
    return finish(std::move(data), context);
  }

  Split read_test(const Table& train, const std::vector<std::string>& classes, const TableLayout& layout,
                  const DataContext& context) const {
    CsvParams same = params;
    if (same.header == "auto") same.header = train.names.empty() ? "false" : "true";
    TableLayout test_layout;
    const Table table = read_table(same, find_data_file(params.test, context), test_layout);
    if (table.columns != train.columns || table.names != train.names)
      fail(ErrorKind::data, table.path, ": its columns are not those of ", train.path,
           table.columns == train.columns ? " (the names differ)" : text(": ", table.columns, " and ", train.columns));
    return split_of(table, classes, layout.features);
  }
};

NEON_REGISTER(Dataset, CSV, "A table of numbers as text, one column of which is predicted.");

}  // namespace

}  // namespace neon
