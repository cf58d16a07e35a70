// A table of numbers as text, one column of which is to be predicted.
#include <algorithm>
#include <cmath>
#include <optional>

#include "datasets/csv_table.h"
#include "datasets/dataset.h"
#include "datasets/labels.h"

namespace neon {

namespace {

// The meaning of a training file's targets: classes or, without classes, values for a regression.
class CsvTargets {
 public:
  CsvTargets(const CsvParams& params, const Table& table) : missing_(params.missing) {
    const FailAtLabel fail_at = [&table](size_t row, const std::string& message) {
      table.fail_at_target(row, "the target " + message);
    };
    const LabelNumbers numbers = label_numbers(table.targets, missing_, fail_at);
    if (params.task == "regression" || (params.task == "auto" && numbers.all_numbers && !numbers.all_whole)) return;
    classes_.emplace(table.targets, numbers.all_numbers, fail_at);
    if (params.task == "auto" && numbers.all_numbers)
      if (const std::string what = ask_about_labels(numbers.smallest, numbers.largest, names().size()); !what.empty())
        fail(ErrorKind::config, table.path, ": the target has ", what, ": say task: classes or task: regression");
    if (names().size() < 2)
      fail(ErrorKind::data, table.path, ": every target is ", in_quotes(names().front()), ": there is only one class");
  }

  // Names of the classes; none: the targets are values.
  std::vector<std::string> names() const { return classes_ ? classes_->names() : std::vector<std::string>(); }

  Split split_of(Table& table) const {
    const auto n = int64_t(table.targets.size());
    Split out;
    out.inputs = std::move(table.features);
    out.targets = classes_ ? Tensor(DType::i32, {n}) : Tensor(DType::f32, {n, 1});
    if (classes_) take_labels(table, out.targets.as<int32_t>());
    else take_values(table, out.targets.as<float>());
    return out;
  }

 private:
  void take_labels(const Table& table, std::span<int32_t> to) const {
    for (size_t row = 0; row < to.size(); ++row) {
      const std::string_view label = table.targets[row];
      const int64_t found = classes_->find(label);
      if (found < 0)
        table.fail_at_target(
            row, text("class ", in_quotes(label), " is not one of the training file's", did_you_mean(label, names())));
      to[row] = int32_t(found);
    }
  }

  void take_values(const Table& table, std::span<float> to) const {
    double value = 0;
    for (size_t row = 0; row < to.size(); ++row) {
      const std::string_view cell = table.targets[row];
      if (!parse_f32(cell, value)) table.fail_at_target(row, "the target: " + no_f32_text(cell, missing_));
      to[row] = float(value);
    }
  }

  MissingMarks missing_;
  std::optional<LabelClasses> classes_;
};

TableColumns columns_of(const CsvParams& params, const Table& table, const TableLayout& layout) {
  TableColumns out;
  out.count = int64_t(table.columns);
  out.delimiter = table.delimiter;
  out.missing = params.missing;
  for (size_t i = 0; i < table.columns; ++i)
    if (layout.feature[i]) out.positions.push_back(int64_t(i));
  for (size_t i = 0; i < table.names.size(); ++i)
    (layout.feature[i] ? out.features : out.others).push_back(table.names[i]);
  return out;
}

class CSV : public Parametrized<Dataset, CsvParams> {
 public:
  explicit CSV(CsvParams given) : Parametrized(std::move(given)) { check_test_part(params.test); }

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
    out.meaning() = data.meaning();
    if (!common.autoencoder)
      out.target = data.train.targets.shape().rank() > 1 ? data.train.targets.shape().slice(1, 2) : Shape{1};
    out.train_size = data.train.size();
    out.test_size = data.test.size();
    out.validation_size = data.validation.size();
    return out;
  }

 private:
  Data load_file(const std::string& path, const DataContext& context) const {
    TableLayout layout;
    Table table = read_table(params, path, layout);
    const CsvTargets targets(params, table);
    Split all = targets.split_of(table);
    Data data;
    data.source = path;
    double part = 0;
    if (parse_number(params.test, part)) {
      const auto n = all.size();
      const auto test_count = int64_t(std::llround(part * double(n)));
      if (test_count >= n || (part > 0 && test_count == 0))
        fail(ErrorKind::data, path, ": ", n, " rows are too few to test with ", params.test, " of them");
      split_rows(all, order_to_take(all, int64_t(targets.names().size()), test_count, context, "csv/test"),
                 n - test_count, data.train, data.test);
    } else {
      data.train = std::move(all);
      data.test = read_test(table, targets, context);
    }
    data.sample = {int64_t(layout.features)};
    data.class_names = targets.names();
    data.classes = int64_t(data.class_names.size());
    data.table = columns_of(params, table, layout);
    if (!table.names.empty()) data.target_names = {table.names[layout.target]};
    return finish(std::move(data), context);
  }

  Split read_test(const Table& train, const CsvTargets& targets, const DataContext& context) const {
    CsvParams same = params;
    if (same.header == "auto") same.header = train.names.empty() ? "false" : "true";
    TableLayout test_layout;
    Table table = read_table(same, find_data_file(params.test, context), test_layout);
    if (table.columns != train.columns || table.names != train.names)
      fail(ErrorKind::data, table.path, ": its columns are not those of ", train.path,
           table.columns == train.columns ? " (the names differ)" : text(": ", table.columns, " and ", train.columns));
    return targets.split_of(table);
  }
};

NEON_REGISTER(Dataset, CSV, "A table of numbers as text; the net predicts one of its columns.");

}  // namespace

}  // namespace neon
