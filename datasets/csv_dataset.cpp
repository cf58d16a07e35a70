// A table as text, one column of which is to be predicted.
#include <algorithm>
#include <cmath>
#include <optional>

#include "datasets/csv_kinds.h"
#include "datasets/dataset.h"
#include "datasets/labels.h"
#include "datasets/series_table.h"

namespace neon {

namespace {

// The meaning of a training file's targets: classes or, without classes, values for a regression.
class CsvTargets {
 public:
  CsvTargets(const CsvParams& params, const Table& table, bool some_classes) : missing_(params.missing) {
    const FailAtLabel fail_at = [&table](size_t row, const std::string& message) {
      table.fail_at_target(row, "the target " + message);
    };
    const LabelNumbers numbers = label_numbers(table.targets, missing_, fail_at);
    if (params.task == "regression" || (params.task == "auto" && numbers.all_numbers && !numbers.all_whole)) return;
    classes_.emplace(table.targets, numbers.all_numbers, fail_at);
    if (params.task == "auto" && numbers.all_numbers)
      if (const std::string what = ask_about_labels(numbers.smallest, numbers.largest, names().size()); !what.empty())
        fail(ErrorKind::config, table.path, ": the target has ", what, ": say task: classes or task: regression");
    if (names().size() < 2 && !some_classes)
      fail(ErrorKind::data, table.path, ": every target is ", in_quotes(names().front()), ": there is only one class");
  }

  // Names of the classes; none: the targets are values.
  std::vector<std::string> names() const { return classes_ ? classes_->names() : std::vector<std::string>(); }

  Split split_of(const Table& table) const {
    const auto n = int64_t(table.targets.size());
    Split out;
    out.inputs = table.features;
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

// `known` are the columns that the net sees, `places` the indices of all features.
TableColumns columns_of(const CsvParams& params, const Table& table, const std::vector<KnownColumn>& known,
                        const std::vector<size_t>& places) {
  TableColumns out;
  out.count = int64_t(table.columns);
  out.delimiter = table.delimiter;
  out.decimal = table.decimal;
  out.missing = params.missing;
  std::vector<bool> seen(table.columns, false);
  for (const KnownColumn& column : known) {
    seen[places[column.place]] = true;
    out.positions.push_back(int64_t(places[column.place]));
    out.codes.push_back(column.code);
  }
  for (size_t i = 0; i < table.names.size(); ++i) (seen[i] ? out.features : out.others).push_back(table.names[i]);
  return out;
}

std::vector<size_t> places_of(const TableLayout& layout) {
  std::vector<size_t> out;
  for (size_t i = 0; i < layout.feature.size(); ++i)
    if (layout.feature[i]) out.push_back(i);
  return out;
}

// The columns of another table of the same columns, with the codes of `trained`.
std::vector<KnownColumn> columns_like(const TableColumns& trained, const Table& table, const TableLayout& layout) {
  std::vector<KnownColumn> out;
  const std::vector<size_t> places = places_of(layout);
  for (size_t k = 0; k < trained.codes.size(); ++k) {
    const bool named = !trained.features.empty() && !table.names.empty();
    const auto column = named ? size_t(std::ranges::find(table.names, trained.features[k]) - table.names.begin())
                              : size_t(trained.positions[k]);
    const size_t place = size_t(std::ranges::find(places, column) - places.begin());
    out.push_back({place, trained.codes[k], false});
  }
  return out;
}

// A table on its way to samples: rows are split first, so that columns are learned from training rows alone.
class CsvLoad {
 public:
  CsvLoad(const CsvParams& params, const Dataset::Common& common, const DataContext& context, const std::string& path)
      : params_(params_for(params, common, context)),
        context_(context),
        former_(context.columns ? &*context.columns : nullptr),
        plain_(context.rules < 3),
        table_(read_table(params_, path, layout_, former_, plain_)),
        targets_(params_, table_, context.some_classes) {}

  // The rows as the table has them.
  Data split() {
    Data data;
    data.source = table_.path;
    data.class_names = targets_.names();
    data.classes = int64_t(data.class_names.size());
    if (!table_.names.empty()) data.target_names = {table_.names[layout_.target]};
    columns_ = plain_    ? plain_columns()
               : former_ ? columns_like(*former_, table_, layout_)
                         : find_kinds(params_, table_, layout_, context_);
    Split all = targets_.split_of(table_);
    double part = 0;
    if (!parse_number(params_.test, part)) {
      data.train = std::move(all);
      data.test = read_test();
      return data;
    }
    const auto n = all.size();
    const auto test_count = int64_t(std::llround(part * double(n)));
    if (test_count >= n || (part > 0 && test_count == 0))
      fail(ErrorKind::data, table_.path, ": ", n, " rows are too few to test with ", params_.test, " of them");
    split_rows(all, order_to_take(all, data.classes, test_count, context_, "csv/test"), n - test_count, data.train,
               data.test);
    return data;
  }

  // The rows as the net sees them.
  void encode(Data& data) {
    if (!former_ && !plain_) learn_codes(params_, table_, data.train.inputs, columns_, context_);
    data.table = described(columns_);
    data.sample = {width_of(data.table.codes)};
    if (plain_) data.table.codes.clear();
    for (Split* split : {&data.train, &data.validation})
      if (split->size() > 0) split->inputs = encoded_rows(table_, split->inputs, columns_);
    for (size_t k = 0; k < test_columns_.size(); ++k) test_columns_[k].code = columns_[k].code;
    if (data.test.size() > 0)
      data.test.inputs = test_columns_.empty() ? encoded_rows(table_, data.test.inputs, columns_)
                                               : encoded_rows(test_table_, data.test.inputs, test_columns_);
    if (params_.standardize && data.classes == 0 && !data.train.targets.empty()) standardize_targets(data);
  }

 private:
  // The parameters, or those by which older versions read numbers alone.
  static CsvParams params_for(CsvParams params, const Dataset::Common& common, const DataContext& context) {
    params.test = test_part(params.test, common);
    if (context.rules >= 3) return params;
    params.standardize = params.impute = false;
    if (params.delimiter == "auto") params.delimiter = ",";
    return params;
  }

  std::vector<KnownColumn> plain_columns() const {
    std::vector<KnownColumn> out(layout_.features);
    for (size_t k = 0; k < out.size(); ++k) out[k].place = k, out[k].as_is = true;
    return out;
  }

  TableColumns described(const std::vector<KnownColumn>& columns) const {
    return columns_of(params_, table_, columns, places_of(layout_));
  }

  Split read_test() {
    CsvParams same = params_;
    if (same.header == "auto") same.header = table_.names.empty() ? "false" : "true";
    const TableColumns kinds = described(columns_);
    TableLayout layout;
    test_table_ = read_table(same, find_data_file(params_.test, context_), layout, &kinds);
    if (test_table_.columns != table_.columns || test_table_.names != table_.names)
      fail(ErrorKind::data, test_table_.path, ": its columns are not those of ", table_.path,
           test_table_.columns == table_.columns ? " (the names differ)"
                                                 : text(": ", test_table_.columns, " and ", table_.columns));
    test_columns_ = columns_like(kinds, test_table_, layout);
    return targets_.split_of(test_table_);
  }

  // Brings values to mean 0 and deviation 1, measured on the training rows.
  void standardize_targets(Data& data) const {
    data.target_standard = context_.target_standard ? *context_.target_standard
                                                    : standard_of(data.train.targets, 0, data.train.size(), {0});
    const double mean = data.target_standard.means[0], deviation = data.target_standard.deviations[0];
    for (Split* split : {&data.train, &data.validation, &data.test})
      if (split->size() > 0)
        for (float& value : split->targets.as<float>()) value = float((double(value) - mean) / deviation);
  }

  const CsvParams params_;
  const DataContext& context_;
  const TableColumns* const former_;
  const bool plain_;  // columns are numbers, as they are
  TableLayout layout_;
  const Table table_;
  const CsvTargets targets_;
  std::vector<KnownColumn> columns_, test_columns_;
  Table test_table_;
};

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
    CsvLoad load(params, common, context, path);
    Data data = finish(load.split(), context);
    load.encode(data);
    return data;
  }
};

NEON_REGISTER(Dataset, CSV,
              "A table as text, of numbers, categories, booleans and dates; the net predicts one of its columns.");

}  // namespace

}  // namespace neon
