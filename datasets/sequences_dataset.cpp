// Sequences of different lengths in a table: the rows of one id, in the order of the file.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "datasets/column_code.h"
#include "datasets/csv_dialect.h"
#include "datasets/f32_steps.h"
#include "datasets/file.h"
#include "datasets/labels.h"
#include "datasets/same_file.h"
#include "datasets/series_array.h"
#include "datasets/series_table.h"
#include "datasets/text_pieces.h"
#include "neon/core/counted.h"

namespace neon {

namespace {

struct SequencesParams {
  std::string path, array = "input", id, target, test = "auto", task = "auto", header = "auto", delimiter = "auto",
                    decimal = "auto";
  int64_t steps = 0;
  std::vector<std::string> columns, ignore;
  std::vector<std::string> missing = default_missing_marks();
  bool each_step = false, standardize = true;
  static void describe(auto&& p) {
    p("path", &SequencesParams::path,
      "A table (.csv, .tsv), plain or gzip, or an array (rows, columns): .npy or HDF5 (.h5).", Required{});
    p("array", &SequencesParams::array, "Name of the array in an HDF5 file.");
    p("id", &SequencesParams::id, "Column whose rows of one text are one sequence: its name, or its index from 0.",
      Required{});
    p("target", &SequencesParams::target, "Column to predict: its name, or its index from 0.", Required{});
    p("each_step", &SequencesParams::each_step,
      "Whether each row has a class or a number of its own; otherwise the target is that of the sequence, the same in "
      "all its rows.");
    p("task", &SequencesParams::task,
      "Kind of the target. auto: classes if it is text or the whole numbers 0 to k - 1, values if it has fractions.",
      one_of({"auto", "classes", "regression"}));
    p("steps", &SequencesParams::steps,
      "The most rows of a sequence; what is behind them is left out. 0: those of the longest.", at_least(0),
      Alias{"time_steps"});
    p("columns", &SequencesParams::columns,
      "Columns that the net sees, by name or index. Default: all others that are not ignored.");
    p("ignore", &SequencesParams::ignore, "Columns to leave out, by name or index.");
    p("test", &SequencesParams::test,
      "Sequences to test with: a file like this one, or the share (0 to 1) of this one, drawn by the seed, from each "
      "class in proportion. auto: 0.2, or none with folds.");
    p("standardize", &SequencesParams::standardize,
      "Brings each column to mean 0 and deviation 1, measured on the training rows.");
    p("header", &SequencesParams::header,
      "Whether the first line names the columns. auto: it does if it has only texts in columns of numbers.",
      one_of({"auto", "true", "false"}));
    p("delimiter", &SequencesParams::delimiter, kDelimiterHelp);
    p("decimal", &SequencesParams::decimal, kDecimalHelp, one_of({"auto", "point", "comma"}));
    p("missing", &SequencesParams::missing,
      "Marks of a missing value beside the empty cell; a missing value is refused. Fill it in first.");
  }
};

// A table with its rows by sequence, in the order in which the ids first occur.
struct Grouped {
  SeriesTable table;
  std::vector<std::vector<int64_t>> rows;
  int64_t longest() const {
    int64_t out = 0;
    for (const auto& of_one : rows) out = std::max(out, int64_t(of_one.size()));
    return out;
  }
  const std::string& target(int64_t row) const { return table.cells[1][size_t(row)]; }
  [[noreturn]] void fail_at(int64_t row, const std::string& message) const {
    fail(ErrorKind::data, table.place(row), ": ", message);
  }
};

class Sequences : public Parametrized<Dataset, SequencesParams> {
 public:
  explicit Sequences(SequencesParams given) : Parametrized(std::move(given)) { check_test_part(params.test); }

  Data load(const DataContext& context) const override {
    return load_file(find_data_file(params.path, context), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    const std::string path = find_data_file(params.path, context, out.missing);
    return path.empty() ? out : check_of(load_file(path, context));
  }

 private:
  Grouped read(const std::string& path, const DataContext& context) const {
    Grouped out;
    SeriesColumns columns{params.columns, params.ignore, {}, {params.id, params.target}};
    columns.header = params.header, columns.missing = params.missing, columns.decimal = params.decimal;
    columns.delimiter = params.delimiter == "auto" && context.rules < kRulesOfSeriesMarks ? "," : params.delimiter;
    columns.trained = context.series, columns.earlier_decimal = context.series_decimal;
    columns.asks_about_groups = context.rules >= kRulesOfSeriesGroups && context.series.empty();
    check_file_keys(path, params.array,
                    {{"header", params.header}, {"delimiter", params.delimiter}, {"decimal", params.decimal}});
    out.table = is_array_file(path) ? table_in_array(path, columns) : read_series(path, columns);
    std::unordered_map<std::string_view, size_t> places;
    const auto& ids = out.table.cells[0];
    for (size_t row = 0; row < ids.size(); ++row) {
      const auto [found, added] = places.emplace(ids[row], out.rows.size());
      if (added) out.rows.emplace_back();
      out.rows[found->second].push_back(int64_t(row));
    }
    return out;
  }

  SeriesTable table_in_array(const std::string& path, SeriesColumns columns) const {
    columns.header = "false", columns.delimiter = ",", columns.decimal = "point";
    const NamedArray array = read_array(path, params.array);
    const auto made = std::make_shared<const std::string>(table_of_array(array));
    SeriesTable out = read_series_text(*made, path, columns);
    out.made = made;
    return out;
  }

  Data load_file(const std::string& path, const DataContext& context) const {
    const Grouped all = read(path, context);
    Data out;
    out.source = path;
    const std::optional<LabelClasses> classes = classes_of(all, out, context);
    double part = 0;
    const std::string test = test_part(params.test, common);
    const bool drawn = parse_number(test, part);
    std::optional<Grouped> other;
    if (!drawn) other.emplace(read(find_data_file(test, context), context));
    if (other) warn_of_same_file(all.table.path, other->table.path, "test", context);
    if (other && (other->table.columns != all.table.columns || other->table.names != all.table.names))
      fail(ErrorKind::data, other->table.path, ": its columns are not those of ", path);
    const int64_t longest = std::max(all.longest(), other ? other->longest() : 0);
    const int64_t steps = params.steps > 0 ? params.steps : longest;
    warn_of_steps(all, !classes, context);
    out.train = split_of(all, classes, steps);
    if (other) out.test = split_of(*other, classes, steps), out.test_source = other->table.path;
    else if (part > 0) draw_test(part, out, context);
    out.sample = {steps, int64_t(all.table.features.size())};
    out.sequence = out.ragged = true;
    out.table = all.table.described();
    out.table.id = params.id;
    if (!all.table.names.empty()) out.target_names = {all.table.names[all.table.texts[1]]};
    const int64_t cut = count_longer(all, steps) + (other ? count_longer(*other, steps) : 0);
    if (cut > 0)
      context.warn(text(path, ": ", counted(cut, "sequence"), cut == 1 ? " is" : " are", " longer than ",
                        counted(steps, "row"), cut == 1 ? ", and its end is" : ", and their ends are", " left out"));
    out = finish(std::move(out), context);
    if (params.standardize) standardize(out, context);
    return out;
  }

  static void warn_of_steps(const Grouped& all, bool numbers, const DataContext& context) {
    std::vector<std::string> names;
    for (const size_t i : all.table.features) names.push_back(text("column ", all.table.name_of(i)));
    warn_of_f32_steps(all.table.numbers, names, all.table.path, context);
    if (!numbers) return;
    Tensor targets(DType::f32, {all.table.rows(), 1});
    for (int64_t row = 0; row < all.table.rows(); ++row) targets.set(row, target_in(all, {}, row));
    warn_of_f32_steps(targets, std::vector<std::string>{"the target"}, all.table.path, context);
  }

  static int64_t count_longer(const Grouped& all, int64_t steps) {
    return std::ranges::count_if(all.rows, [&](const auto& rows) { return int64_t(rows.size()) > steps; });
  }

  static void draw_test(double share, Data& data, const DataContext& context) {
    const int64_t n = data.train.size(), count = std::llround(share * double(n));
    if (count == 0 || count == n)
      fail(ErrorKind::config, "test: ", n, " sequences are too few to keep a share of ", share, " apart");
    Split all = std::move(data.train);
    split_rows(all, order_to_take(all, data, count, context, "sequences/test"), n - count, data.train, data.test);
  }

  // Without classes the targets are values.
  std::optional<LabelClasses> classes_of(const Grouped& all, Data& data, const DataContext& context) const {
    const MissingMarks missing(params.missing);
    const std::vector<std::string_view> labels(all.table.cells[1].begin(), all.table.cells[1].end());
    const FailAtLabel fail_at = [&](size_t row, const std::string& message) {
      all.fail_at(int64_t(row), "the target " + message);
    };
    const LabelNumbers numbers = label_numbers(labels, missing, fail_at);
    if (params.task == "regression" || (params.task == "auto" && numbers.all_numbers && !numbers.all_whole)) return {};
    if (params.task == "auto" && !numbers.all_numbers && context.asks_about_texts())
      refuse_texts_meant_otherwise(labels, fail_at);
    std::optional<LabelClasses> out;
    out.emplace(labels, numbers.all_numbers, fail_at);
    data.class_names = out->names();
    data.classes = int64_t(data.class_names.size());
    if (params.task == "auto" && numbers.all_numbers && (data.classes > 1 || context.some_classes))
      if (const std::string what = ask_about_labels(numbers.smallest, numbers.largest, size_t(data.classes));
          !what.empty())
        fail(ErrorKind::config, all.table.path, ": the target has ", what, ": say task: classes or task: regression");
    if (data.classes < 2 && !context.some_classes)
      fail(ErrorKind::data, all.table.path, ": every target is ", in_quotes(data.class_names.front()),
           ": there is only one class");
    return out;
  }

  Split split_of(const Grouped& all, const std::optional<LabelClasses>& classes, int64_t steps) const {
    const auto n = int64_t(all.rows.size());
    const int64_t features = all.table.numbers.shape()[1];
    Split out;
    out.inputs = Tensor(DType::f32, {n, steps, features});
    // Numbers of padding do not count.
    if (classes) out.targets = Tensor(DType::i32, params.each_step ? Shape{n, steps} : Shape{n});
    else out.targets = Tensor(DType::f32, params.each_step ? Shape{n, steps, 1} : Shape{n, 1});
    const auto inputs = out.inputs.as<float>();
    const auto numbers = all.table.numbers.as<float>();
    std::ranges::fill(inputs, std::numeric_limits<float>::quiet_NaN());
    if (params.each_step && classes) std::ranges::fill(out.targets.as<int32_t>(), -1);
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<int64_t>& rows = all.rows[size_t(i)];
      const int64_t count = std::min(steps, int64_t(rows.size()));
      for (int64_t t = 0; t < count; ++t) {
        std::copy_n(numbers.begin() + rows[size_t(t)] * features, features,
                    inputs.begin() + (i * steps + t) * features);
        if (params.each_step) out.targets.set(i * steps + t, target_in(all, classes, rows[size_t(t)]));
      }
      if (!params.each_step) out.targets.set(i, target_of(all, classes, rows));
    }
    return out;
  }

  static double target_in(const Grouped& all, const std::optional<LabelClasses>& classes, int64_t row) {
    const std::string& cell = all.target(row);
    double value = 0;
    if (!classes) {
      const char* const advice = boolean_of(cell) < 0 ? "" : kBooleanTarget;
      if (!parse_f32(cell, value)) all.fail_at(row, "the target: " + no_f32_text(cell, MissingMarks(), advice));
      return value;
    }
    const int64_t found = classes->find(cell);
    if (found < 0)
      all.fail_at(row, text("class ", in_quotes(cell), " is not one of the training file's",
                            did_you_mean(cell, classes->names())));
    return double(found);
  }

  // The target of all rows of a sequence.
  static double target_of(const Grouped& all, const std::optional<LabelClasses>& classes,
                          const std::vector<int64_t>& rows) {
    const double out = target_in(all, classes, rows.front());
    for (const int64_t row : rows)
      if (target_in(all, classes, row) != out)
        all.fail_at(row, text("the target is ", in_quotes(all.target(row)), ", but that of an earlier row of ",
                              in_quotes(all.table.cells[0][size_t(row)]), " is ", in_quotes(all.target(rows.front())),
                              "; each_step: true takes a target for each row"));
    return out;
  }

  // By the rows of the training samples, or as the net that goes on was trained.
  void standardize(Data& data, const DataContext& context) const {
    constexpr int kRulesOfTargets = 5;
    const int64_t features = data.sample[1], rows = data.train.inputs.elements() / features;
    std::vector<int64_t> there;
    for (int64_t row = 0; row < rows; ++row)
      if (!std::isnan(data.train.inputs.at(row * features))) there.push_back(row);
    data.standard = has_standard(context.standard, features, data.source)
                        ? *context.standard
                        : standard_of_rows(take_rows(data.train.inputs.reshaped({rows, features}), there));
    for (Split* split : splits_of(data)) bring_to(data.standard, split->inputs.as<float>());
    if (common.autoencoder) data.target_standard = data.standard;
    if (common.autoencoder || !is_floating(data.train.targets.dtype()) || context.rules < kRulesOfTargets) return;
    Tensor targets = data.train.targets.reshaped({data.train.targets.elements(), 1});
    if (params.each_step) targets = take_rows(targets, there);
    data.target_standard = has_standard(context.target_standard, 1, data.source) ? *context.target_standard
                           : has_zeros_and_ones(targets, 0)                      ? Standard{{0}, {1}}
                                                                                 : standard_of_rows(targets);
    for (Split* split : splits_of(data)) bring_to(data.target_standard, split->targets.as<float>());
  }

  static Standard standard_of_rows(const Tensor& rows) {
    std::vector<int64_t> columns(static_cast<size_t>(rows.shape()[1]));
    std::iota(columns.begin(), columns.end(), 0);
    return standard_of(rows, 0, rows.shape()[0], columns);
  }

  static std::vector<Split*> splits_of(Data& data) {
    std::vector<Split*> out;
    for (Split* split : {&data.train, &data.test, &data.validation})
      if (split->size() > 0) out.push_back(split);
    return out;
  }
};

NEON_REGISTER(Dataset, Sequences,
              "Sequences of different lengths in a table or an array: the rows of one id, in their order. The target "
              "is a class or a "
              "number for each sequence or for each row.");

}  // namespace

}  // namespace neon
