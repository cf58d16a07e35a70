// Windows of a time series: so many rows that follow one another, and what the rows behind them hold.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "datasets/csv_dialect.h"
#include "datasets/f32_steps.h"
#include "datasets/file.h"
#include "datasets/labels.h"
#include "datasets/series_array.h"
#include "datasets/series_table.h"
#include "datasets/text_pieces.h"
#include "neon/core/counted.h"

namespace neon {

namespace {

struct WindowsParams {
  std::string path, array = "input", label, test = "0.2", header = "auto", delimiter = "auto", decimal = "auto";
  int64_t steps = 32, horizon = 1, stride = 1;
  std::vector<std::string> columns, ignore, targets;
  std::vector<std::string> missing = default_missing_marks();
  bool each_step = false, standardize = true;
  static void describe(auto&& p) {
    p("path", &WindowsParams::path,
      "The series, a row for each time: a table (.csv, .tsv), .npy (n) or (n, columns), or HDF5 (.h5).", Required{});
    p("array", &WindowsParams::array, "Name of the array in an HDF5 file.");
    p("steps", &WindowsParams::steps, "Rows of a sample.", at_least(1), Alias{"time_steps"});
    p("horizon", &WindowsParams::horizon,
      "Rows behind those of a sample that are to be predicted; with label the number of rows from the last one of a "
      "sample to the one with its class, perhaps 0.",
      at_least(0));
    p("stride", &WindowsParams::stride, "Rows from the begin of one sample to that of the next.", at_least(1));
    p("columns", &WindowsParams::columns,
      "Columns that the net sees, by name or index. Default: all that are not ignored.");
    p("ignore", &WindowsParams::ignore, "Columns to leave out, by name or index, as dates.");
    p("targets", &WindowsParams::targets, "Columns to predict, by name or index. Default: those that the net sees.");
    p("label", &WindowsParams::label,
      "Column of classes to predict in place of numbers, by name or index, in a table. A sample's class is that of the "
      "row `horizon` rows behind its last one.");
    p("each_step", &WindowsParams::each_step,
      "Whether each step has a target, the row that is `horizon` rows later; otherwise a sample has the `horizon` rows "
      "behind its last one.");
    p("test", &WindowsParams::test, "Share (0 to 1) of the rows, at the end, to test with.");
    p("standardize", &WindowsParams::standardize,
      "Brings each column to mean 0 and deviation 1, measured on the training rows; neon predict turns outputs back.");
    p("header", &WindowsParams::header,
      "Whether the first line of a table names the columns. auto: it does if it has only texts in columns of numbers.",
      one_of({"auto", "true", "false"}));
    p("delimiter", &WindowsParams::delimiter, kDelimiterHelp);
    p("decimal", &WindowsParams::decimal, kDecimalHelp, one_of({"auto", "point", "comma"}));
    p("missing", &WindowsParams::missing,
      "Marks of a missing value beside the empty cell; a missing value is refused. Fill it in first.");
  }
};

// Rows of the columns that are seen, and behind them of those to predict.
struct Series {
  std::string source;
  Tensor numbers;
  int64_t features = 0, targets = 0;
  TableColumns table;
  bool sees_targets = true;  // a column to predict is one of those that are seen
  std::vector<std::string> target_names;
  std::vector<std::string> columns;  // as messages have them
  std::vector<std::string> class_names;
  std::vector<int32_t> labels;  // the class of each row, where a column of classes is predicted
};

class Windows : public Parametrized<Dataset, WindowsParams> {
 public:
  explicit Windows(WindowsParams given) : Parametrized(std::move(given)) {
    if (!parse_number(params.test, test_) || !(test_ >= 0 && test_ < 1))
      fail(ErrorKind::config, "test: ", params.test, " is no share from 0 to below 1");
    if (params.horizon == 0 && params.label.empty())
      fail(ErrorKind::config, "horizon: with 0 there is no row to predict; with label it is the class of the last row");
    if (!params.label.empty() && !params.targets.empty())
      fail(ErrorKind::config, "label: a sample has a class or numbers to predict; give label or targets");
  }

  Data load(const DataContext& context) const override {
    return data_of(read(find_data_file(params.path, context), context), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    const std::string path = find_data_file(params.path, context, out.missing);
    if (path.empty()) return out;
    return check_of(data_of(read(path, context), context));
  }

 private:
  Series read(const std::string& path, const DataContext& context) const {
    const bool is_array = is_array_file(path);
    if (context.rules >= kRulesOfSeriesMarks)
      check_file_keys(path, params.array,
                      {{"header", params.header}, {"delimiter", params.delimiter}, {"decimal", params.decimal}});
    if (is_array && !params.label.empty())
      fail(ErrorKind::config, "label: ", in_quotes(params.label), " is a column of a table, and ", path,
           " holds an array; save the series as a table (.csv)");
    if (is_array) return of_array(read_array(path, params.array));
    SeriesColumns columns{params.columns, params.ignore, params.targets, {}};
    columns.header = params.header, columns.delimiter = params.delimiter, columns.missing = params.missing;
    columns.trained = context.series;
    columns.decimal = params.decimal;
    columns.earlier_decimal = context.series_decimal;
    // Older versions stored "," as the default, and took it for a tab in a .tsv.
    const bool older = context.rules < kRulesOfSeriesMarks;
    if (lower(path).ends_with(".tsv") && (params.delimiter == "auto" || (older && params.delimiter == ",")))
      columns.delimiter = "tab";
    else if (older && params.delimiter == "auto") columns.delimiter = ",";
    if (!params.label.empty()) columns.texts = {params.label}, columns.text_parameter = "label";
    columns.asks_about_groups = context.rules >= kRulesOfSeriesGroups && context.series.empty();
    const SeriesTable table = read_series(path, columns);
    Series out;
    if (!params.label.empty()) take_labels(table, context, out);
    out.source = path;
    out.table = table.described();
    out.features = int64_t(table.features.size());
    out.numbers = table.numbers;
    out.targets = int64_t(table.targets.size());
    out.sees_targets = table.texts.empty() && see_one(table.features, table.targets);
    for (const auto* of : {&table.features, &table.targets})
      for (const size_t i : *of) out.columns.push_back(text("column ", table.name_of(i)));
    if (!table.names.empty())
      for (const size_t i : !table.texts.empty() ? table.texts : table.targets.empty() ? table.features : table.targets)
        out.target_names.push_back(table.names[i]);
    return out;
  }

  void take_labels(const SeriesTable& table, const DataContext& context, Series& out) const {
    const std::vector<std::string_view> labels(table.cells[0].begin(), table.cells[0].end());
    const FailAtLabel fail_at = [&](size_t row, const std::string& message) {
      fail(ErrorKind::data, table.place(int64_t(row)), ": the class ", message);
    };
    const bool all_numbers = label_numbers(labels, MissingMarks(params.missing), fail_at).all_numbers;
    const LabelClasses classes(labels, all_numbers, fail_at);
    out.class_names = classes.names();
    if (out.class_names.size() < 2 && !context.some_classes)
      fail(ErrorKind::data, table.path, ": each row is of class ", in_quotes(out.class_names.front()),
           "; expected at least 2 classes");
    for (const std::string_view label : labels) out.labels.push_back(int32_t(classes.find(label)));
  }

  Series of_array(const NamedArray& array) const {
    const auto& [raw, source] = array;
    if (raw.shape().rank() < 1 || raw.shape().rank() > 2)
      fail(ErrorKind::data, source, ": is ", raw.shape(), "; a series is (n) or (n, columns)");
    const int64_t rows = raw.shape()[0], width = raw.shape().rank() == 2 ? raw.shape()[1] : 1;
    const std::vector<int64_t> ignored = indices(params.ignore, "ignore", width, source);
    std::vector<int64_t> columns = indices(params.columns, "columns", width, source);
    for (const int64_t k : columns)
      if (std::ranges::count(ignored, k))
        fail(ErrorKind::config, "columns: ", k, " is to be ignored, too; leave it out of one of them");
    if (columns.empty())
      for (int64_t i = 0; i < width; ++i)
        if (!std::ranges::count(ignored, i)) columns.push_back(i);
    std::ranges::sort(columns);
    Series out;
    out.source = source;
    out.features = int64_t(columns.size());
    const std::vector<int64_t> targets = indices(params.targets, "targets", width, source);
    out.targets = int64_t(targets.size());
    out.sees_targets = see_one(columns, targets);
    columns.insert(columns.end(), targets.begin(), targets.end());
    if (out.features == 0) fail(ErrorKind::config, source, ": no columns are left");
    for (const int64_t k : columns) out.columns.push_back(text("column ", k));
    out.numbers = Tensor(DType::f32, {rows, int64_t(columns.size())});
    const auto to = out.numbers.as<float>();
    for (int64_t row = 0; row < rows; ++row)
      for (size_t k = 0; k < columns.size(); ++k) {
        const auto value = float(raw.at(row * width + columns[k]));
        if (!std::isfinite(value))
          fail(ErrorKind::data, source, ": row ", row, ", column ", columns[k], " is ", value,
               ", not a number to learn from; fill it in first");
        to[size_t(row) * columns.size() + k] = value;
      }
    return out;
  }

  // Without targets of their own, all columns that are seen are predicted.
  static bool see_one(const auto& features, const auto& targets) {
    return targets.empty() || std::ranges::any_of(targets, [&](auto k) { return std::ranges::count(features, k) > 0; });
  }

  static std::vector<int64_t> indices(const std::vector<std::string>& columns, const char* parameter, int64_t width,
                                      const std::string& source) {
    std::vector<int64_t> out;
    for (const std::string& column : columns) {
      double index = -1;
      if (!parse_number(column, index) || index != std::floor(index) || index < 0 || index >= double(width))
        fail(ErrorKind::config, parameter, ": ", in_quotes(column), " is no column of ", source, ", which has 0 to ",
             width - 1);
      if (std::ranges::count(out, int64_t(index)))
        fail(ErrorKind::config, parameter, ": column ", in_quotes(column), " is named twice");
      out.push_back(int64_t(index));
    }
    return out;
  }

  // Rows at the end that make up the validation part, or the test part.
  int64_t rows_of_share(double share, int64_t rows) const {
    if (share < 1) return int64_t(std::ceil(share * double(rows)));
    return params.steps + params.horizon + (int64_t(share) - 1) * params.stride;
  }

  Data data_of(Series series, const DataContext& context) const {
    const int64_t rows = series.numbers.shape()[0], test = test_ > 0 ? rows_of_share(test_, rows) : 0;
    const double share = common.validation;
    if (share >= 1 && share != std::floor(share))
      fail(ErrorKind::config, "validation: ", share, " is neither a number of samples nor a share below 1");
    const int64_t validation = share > 0 ? rows_of_share(share, rows) : 0, train = rows - test - validation;
    const std::vector<std::pair<const char*, int64_t>> parts = {
        {"training", train}, {"validation", validation}, {"test", test}};
    for (const auto& [name, count] : parts)
      if (count < params.steps + params.horizon && (count != 0 || count == train))
        fail(ErrorKind::config, series.source, ": of its ", counted(rows, "row"), ", ", std::max<int64_t>(count, 0),
             count == 1 ? " is" : " are", " left for the ", name, " part; a sample and its targets take ",
             params.steps + params.horizon);
    warn_of_f32_steps(series.numbers, series.columns, series.source, context);
    Data out;
    out.source = series.source;
    out.sample = {params.steps, series.features};
    out.sequence = out.took_validation = true;
    out.table = series.table;
    out.class_names = series.class_names;
    out.classes = int64_t(out.class_names.size());
    name_targets(series, out);
    if (params.each_step && series.sees_targets) out.seen_later = params.horizon;
    if (params.standardize) standardize(series, train, context, out);
    if (common.autoencoder) out.target_standard = out.standard;
    out.train = windows(series, 0, train);
    out.validation = windows(series, train, validation);
    out.test = windows(series, train + validation, test);
    return finish(std::move(out), context);
  }

  void name_targets(const Series& series, Data& data) const {
    if (!series.labels.empty()) data.target_names = series.target_names;
    else
      for (int64_t h = 1; h <= (params.each_step ? 1 : params.horizon); ++h)
        for (const std::string& name : series.target_names)
          data.target_names.push_back(params.horizon == 1 ? name
                                                          : text(name, " +", params.each_step ? params.horizon : h));
  }

  // The columns to predict: those that are seen, unless the spec names others.
  static std::vector<int64_t> target_columns(const Series& series) {
    std::vector<int64_t> out;
    for (int64_t k = 0; k < (series.targets ? series.targets : series.features); ++k)
      out.push_back(series.targets ? series.features + k : k);
    return out;
  }

  // By the training rows, or as the net that goes on was trained.
  void standardize(Series& series, int64_t train, const DataContext& context, Data& data) const {
    const int64_t width = series.numbers.shape()[1];
    std::vector<int64_t> all(static_cast<size_t>(width));
    std::iota(all.begin(), all.end(), 0);
    const std::vector<int64_t> targets = target_columns(series);
    Standard standard = standard_of(series.numbers, 0, train, all);
    if (series.targets == 1 && has_zeros_and_ones(series.numbers, targets[0]))
      standard.means[size_t(targets[0])] = 0, standard.deviations[size_t(targets[0])] = 1;
    const auto put = [&](const std::optional<Standard>& former, const std::vector<int64_t>& columns) {
      if (!has_standard(former, int64_t(columns.size()), series.source)) return;
      for (size_t i = 0; i < columns.size(); ++i) {
        standard.means[size_t(columns[i])] = former->means[i];
        standard.deviations[size_t(columns[i])] = former->deviations[i];
      }
    };
    const std::vector<int64_t> features(all.begin(), all.begin() + series.features);
    if (!common.autoencoder && series.labels.empty()) put(context.target_standard, targets);
    put(context.standard, features);
    bring_to(standard, series.numbers.as<float>());
    const auto take = [&](const std::vector<int64_t>& columns, Standard& to) {
      for (const int64_t k : columns) {
        to.means.push_back(standard.means[size_t(k)]);
        to.deviations.push_back(standard.deviations[size_t(k)]);
      }
    };
    take(features, data.standard);
    if (series.labels.empty()) take(targets, data.target_standard);
  }

  Split windows(const Series& series, int64_t first, int64_t rows) const {
    Split out;
    if (rows == 0) return out;
    const int64_t n = (rows - params.steps - params.horizon) / params.stride + 1, steps = params.steps;
    const std::vector<int64_t> columns = target_columns(series);
    const auto k = int64_t(columns.size()), width = series.numbers.shape()[1];
    out.inputs = Tensor(DType::f32, {n, steps, series.features});
    const bool classes = !series.labels.empty();
    if (!classes)
      out.targets = Tensor(DType::f32, params.each_step ? Shape{n, steps, k} : Shape{n, params.horizon * k});
    float* input = out.inputs.as<float>().data();
    float* target = classes ? nullptr : out.targets.as<float>().data();
    const auto numbers = series.numbers.as<float>();
    const auto at = [&](int64_t row, int64_t column) { return numbers[size_t(row * width + column)]; };
    const int64_t behind = params.each_step ? steps : params.horizon;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t begin = first + i * params.stride;
      for (int64_t t = 0; t < steps; ++t)
        for (int64_t c = 0; c < series.features; ++c) *input++ = at(begin + t, c);
      const int64_t last = begin + steps - 1 + params.horizon;
      const int64_t from = params.each_step ? begin + params.horizon : classes ? last : begin + steps;
      out.numbers.push_back(from);  // people look for the row of the first target
      if (classes) continue;
      for (int64_t t = 0; t < behind; ++t)
        for (const int64_t c : columns) *target++ = at(from + t, c);
    }
    if (classes) out.targets = classes_behind(series, out.numbers);
    return out;
  }

  // The classes from these rows on: one for each sample, or for each of its steps.
  Tensor classes_behind(const Series& series, const std::vector<int64_t>& rows) const {
    const int64_t each = params.each_step ? params.steps : 1, n = int64_t(rows.size());
    Tensor out(DType::i32, params.each_step ? Shape{n, each} : Shape{n});
    for (int64_t i = 0; i < n; ++i)
      std::copy_n(series.labels.begin() + rows[size_t(i)], each, out.as<int32_t>().begin() + i * each);
    return out;
  }

  double test_ = 0;
};

NEON_REGISTER(Dataset, Windows,
              "Windows of a time series, a table or an array: so many rows are a sample, and the rows behind them, or "
              "some of their columns, or a class, its target. The last rows are validation and test samples.");

}  // namespace

}  // namespace neon
