// A table as text, some columns of which are to be predicted.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "datasets/class_sizes.h"
#include "datasets/csv_kinds.h"
#include "datasets/csv_targets.h"
#include "datasets/same_file.h"
#include "neon/core/counted.h"

namespace neon {

namespace {

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
    const size_t place = places[column.place];
    seen[place] = true;
    out.positions.push_back(int64_t(place));
    out.codes.push_back(column.code);
    if (!table.names.empty()) out.features.push_back(table.names[place]);
  }
  for (size_t i = 0; i < table.names.size(); ++i)
    if (!seen[i]) out.others.push_back(table.names[i]);
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
    out.push_back({place, trained.codes[k], false, column});
  }
  return out;
}

// A table on its way to samples: rows are split first, so that columns are learned from training rows alone.
class CsvLoad {
 public:
  CsvLoad(const CsvParams& params, const Dataset::Common& common, const DataContext& context, const std::string& path)
      : params_(params_for(params, common, context)),
        common_(common),
        context_(context),
        former_(context.columns ? &*context.columns : nullptr),
        plain_(context.rules < 3),
        table_(read_table(params_, path, layout_, former_, plain_)),
        targets_(params_, table_, context) {}

  // The rows as the table has them.
  Data split() {
    Data data;
    data.source = table_.path;
    targets_.describe(table_, data);
    columns_ = plain_    ? plain_columns()
               : former_ ? columns_like(*former_, table_, layout_)
                         : find_kinds(params_, table_, layout_, context_);
    if (!former_ && (common_.autoencoder || common_.reconstruct)) keep_from_embedding();
    Split all = targets_.split_of(table_);
    if (!former_ && !common_.autoencoder) targets_.warn_of_steps(table_, all.targets, context_);
    table_.drop_targets();
    double part = 0;
    if (!parse_number(params_.test, part)) {
      data.train = std::move(all);
      data.test = read_test();
      data.test_source = test_table_.path;
      return data;
    }
    const auto n = all.size();
    const auto test_count = int64_t(std::llround(part * double(n)));
    if (test_count >= n || (part > 0 && test_count == 0))
      fail(ErrorKind::data, table_.path, ": ", counted(n, "row"), n == 1 ? " is" : " are", " too few to test with ",
           params_.test, " of them; add rows, give a second file as test, or test: 0 to train with all");
    take_test(all, drawn_to_test(all, data, test_count), data);
    return data;
  }

  // The rows as the net sees them.
  void encode(Data& data) {
    if (!former_ && !plain_) learn_codes(params_, table_, data.train.inputs, columns_, context_);
    data.table = former_ ? like_former() : described(columns_);
    data.sample = {width_of(data.table.codes)};
    if (plain_) data.table.codes.clear();
    check_unlearnt(data);
    for (Split* split : {&data.train, &data.validation})
      if (split->size() > 0) split->inputs = encoded_rows(table_, split->inputs, columns_);
    if (data.test.size() > 0)
      data.test.inputs = test_columns_.empty() ? encoded_rows(table_, data.test.inputs, columns_)
                                               : encoded_rows(test_table_, data.test.inputs, test_columns_);
    if (params_.standardize) targets_.standardize(data, context_);
  }

 private:
  // Which rows are to test with.
  std::vector<bool> drawn_to_test(const Split& all, const Data& data, int64_t count) const {
    const std::vector<int64_t> order = order_to_take(all, data, count, context_, "csv/test");
    std::vector<bool> out(order.size());
    for (size_t i = order.size() - size_t(count); i < order.size(); ++i) out[size_t(order[i])] = true;
    return out;
  }

  // The parameters, or those by which older versions read numbers alone.
  static CsvParams params_for(CsvParams params, const Dataset::Common& common, const DataContext& context) {
    params.test = test_part(params.test, common);
    if (context.rules >= 3) return params;
    params.standardize = params.impute = false;
    if (params.delimiter == "auto") params.delimiter = ",";
    return params;
  }

  // Numbers of a sample that are targets themselves are no rows of a table.
  void keep_from_embedding() {
    for (KnownColumn& column : columns_) {
      if (column.choice.kind == "embed")
        fail(ErrorKind::config, "columns: ", table_.column_text(column.column), " is embedded, and ",
             common_.autoencoder ? "autoencoder" : "reconstruct",
             " makes the numbers of a sample the target; give the column the kind one_hot");
      column.choice.kind = "one_hot";
    }
  }

  std::vector<KnownColumn> plain_columns() const {
    std::vector<KnownColumn> out(layout_.features);
    for (size_t k = 0; k < out.size(); ++k) out[k].place = k, out[k].as_is = true;
    return out;
  }

  // As split_rows() does it. Rows to train with move up where they lie: a copy of a large table takes as long as to
  // read its numbers.
  static void take_test(Split& all, const std::vector<bool>& tested, Data& data) {
    const auto count = size_t(std::ranges::count(tested, true));
    std::vector<int64_t> train, test;
    train.reserve(tested.size() - count), test.reserve(count);
    for (size_t row = 0; row < tested.size(); ++row) (tested[row] ? test : train).push_back(int64_t(row));
    if (count > 0) data.test = rows_of(all, test);
    data.train.inputs = moved_up(all.inputs, train);
    if (!all.targets.empty()) data.train.targets = moved_up(all.targets, train);
    if (count > 0) data.train.numbers = std::move(train);
  }

  // These rows, as they follow each other, brought together at the front.
  static Tensor moved_up(Tensor& all, const std::vector<int64_t>& rows) {
    const size_t size = all.bytes() / size_t(all.shape()[0]);
    auto* const bytes = static_cast<std::byte*>(all.data());
    for (size_t i = 0; i < rows.size(); ++i)
      if (size_t(rows[i]) != i) std::memcpy(bytes + i * size, bytes + size_t(rows[i]) * size, size);
    return all.rows(0, int64_t(rows.size()));
  }

  // The rows that the columns were not learnt from; those of one table together, so that a note stands once.
  void check_unlearnt(const Data& data) {
    for (size_t k = 0; k < test_columns_.size(); ++k) test_columns_[k].code = columns_[k].code;
    std::vector<Tensor> rows;
    for (const Split* const split : {&data.train, &data.validation, &data.test}) {
      const bool learnt = split == &data.train && !former_;
      const bool of_table = split != &data.test || test_columns_.empty();
      if (split->size() > 0 && !learnt && of_table) rows.push_back(split->inputs);
    }
    check_codes(params_, table_, rows, columns_, context_);
    if (data.test.size() > 0 && !test_columns_.empty())
      check_codes(params_, test_table_, {data.test.inputs}, test_columns_, context_);
  }

  TableColumns described(const std::vector<KnownColumn>& columns) const {
    return columns_of(params_, table_, columns, places_of(layout_));
  }

  // The columns in the order in which they were trained, which is not that of any other table.
  TableColumns like_former() const {
    TableColumns out = *former_;
    out.delimiter = table_.delimiter, out.decimal = table_.decimal, out.missing = params_.missing;
    return out;
  }

  // Names the columns that the parameters give by their place, so that another table may have another order. Returns
  // false where columns have no names that say it.
  bool take_by_name(CsvParams& params) const {
    const auto is_name = [&](size_t column) {
      const std::string& name = table_.names[column];
      return name != "last" && name.find_first_not_of("0123456789") != name.npos;
    };
    if (plain_ || table_.names.empty() || !std::ranges::all_of(table_.target_columns, is_name)) return false;
    for (size_t k = 0; k < table_.target_columns.size(); ++k)
      (params.targets.empty() ? params.target[k] : params.targets[k].first) = table_.names[table_.target_columns[k]];
    params.ignore.clear(), params.columns.clear();  // the first table has decided
    return true;
  }

  void note_other_columns() const {
    std::vector<std::string> others;
    for (const std::string& name : test_table_.names)
      if (!std::ranges::count(table_.names, name)) others.push_back(in_quotes(name));
    if (!others.empty())
      context_.note(text(test_table_.path, ": left out, since ", table_.path, " lacks them: ", join(others, ", ")));
  }

  Split read_test() {
    CsvParams same = params_;
    if (same.header == "auto") same.header = table_.names.empty() ? "false" : "true";
    const TableColumns kinds = described(columns_);
    TableLayout layout;
    const std::string path = find_data_file(params_.test, context_);
    warn_of_same_file(table_.path, path, "test", context_);
    const bool named = take_by_name(same);
    test_table_ = read_table(same, path, layout, &kinds);
    if (!named && (test_table_.columns != table_.columns || test_table_.names != table_.names))
      fail(ErrorKind::data, test_table_.path, ": its columns are not those of ", table_.path,
           test_table_.columns == table_.columns ? " (the names differ)"
                                                 : text(": ", test_table_.columns, " and ", table_.columns));
    if (named) note_other_columns();
    test_columns_ = columns_like(kinds, test_table_, layout);
    return targets_.split_of(test_table_);
  }

  const CsvParams params_;
  const Dataset::Common& common_;
  const DataContext& context_;
  const TableColumns* const former_;
  const bool plain_;  // columns are numbers, as they are
  TableLayout layout_;
  Table table_;
  const CsvTargets targets_;
  std::vector<KnownColumn> columns_, test_columns_;
  Table test_table_;
};

class CSV : public Parametrized<Dataset, CsvParams> {
 public:
  explicit CSV(CsvParams given) : Parametrized(std::move(given)) {
    check_test_part(params.test);
    check_targets(params);
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
    out.meaning() = data.meaning();
    if (!common.autoencoder)
      out.target = data.train.targets.shape().rank() > 1 ? data.train.targets.shape().slice(1, 2) : Shape{1};
    out.class_counts = class_sizes(data.train, data, data.source);
    out.train_size = data.train.size();
    out.test_size = data.test.size();
    out.validation_size = data.validation.size();
    return out;
  }

 private:
  Data load_file(const std::string& path, const DataContext& context) const {
    CsvLoad load(params, common, context, path);
    Data data = finish(load.split(), context, false);
    load.encode(data);
    reconstruct(data);
    return data;
  }
};

NEON_REGISTER(
    Dataset, CSV,
    "A table as text, of numbers, categories, booleans and dates; the net predicts one of its columns, or several.");

}  // namespace

}  // namespace neon
