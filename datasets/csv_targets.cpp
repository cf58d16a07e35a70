#include "datasets/csv_targets.h"

#include <algorithm>
#include <set>

#include "datasets/column_code.h"
#include "datasets/csv_dialect.h"
#include "datasets/f32_steps.h"
#include "datasets/reconstruction.h"
#include "datasets/series_table.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr char kBetweenLabels = ';';

FailAtLabel fail_in(const Table& table, size_t k) {
  return [&table, k](size_t row, const std::string& message) {
    table.fail_at_target(row, k, text(table.target_text(k), " ", message));
  };
}

[[noreturn]] void fail_at_point(const Table& table, size_t k, size_t row) {
  table.fail_at_target(row, k, text(table.target_text(k), ": ", point_among_commas(table.targets[k][row])));
}

std::string_view trimmed(std::string_view of) {
  const size_t first = of.find_first_not_of(' ');
  return first == of.npos ? std::string_view() : of.substr(first, of.find_last_not_of(' ') + 1 - first);
}

// The mark that may stand between labels where none of the cells has ';': its pieces are at most half as many texts as
// the cells. Else "".
std::string other_label_mark(const std::vector<std::string_view>& cells) {
  if (std::ranges::any_of(cells, [](std::string_view cell) { return cell.find(';') != cell.npos; })) return "";
  const std::set<std::string_view> whole(cells.begin(), cells.end());
  for (const char mark : {'|', ',', '/', ' '}) {
    std::set<std::string_view> pieces;
    for (std::string_view rest : whole)
      for (size_t end = 0; end != rest.npos && !rest.empty(); rest.remove_prefix(std::min(end, rest.size() - 1) + 1)) {
        end = rest.find(mark);
        pieces.insert(rest.substr(0, end));
      }
    if (2 * pieces.size() <= whole.size()) return {mark};
  }
  return "";
}

// The labels of a cell, "red; round", in which none may be empty; an empty cell has none.
void for_each_label(std::string_view cell, auto&& see) {
  if (trimmed(cell).empty()) return;
  for (size_t begin = 0; begin <= cell.size();) {
    const size_t end = std::min(cell.find(kBetweenLabels, begin), cell.size());
    see(trimmed(cell.substr(begin, end - begin)));
    begin = end + 1;
  }
}

bool are_numbers(const std::vector<std::string>& names) {
  double value = 0;
  return std::ranges::all_of(names, [&](const std::string& name) { return parse_number(name, value); });
}

}  // namespace

CsvTargets::CsvTargets(const CsvParams& params, const Table& table, const DataContext& context)
    : missing_(params.missing), several_(!params.targets.empty()) {
  if (!several_) {
    columns_.resize(table.targets.size());
    learn_one(params, table, context);
  }
  for (size_t k = 0; k < params.targets.size(); ++k) {
    Column& column = columns_.emplace_back();
    column.target.name = params.targets[k].first;
    for (const TargetKind kind : {TargetKind::number, TargetKind::classes, TargetKind::labels})
      if (name_of(kind) == params.targets[k].second) column.target.kind = kind;
    if (column.target.kind == TargetKind::number) continue;
    know(column, context);
    if (!column.classes) {
      learn(column, table, k, context.some_classes);
      if (const std::string mark = other_label_mark(table.targets[k]);
          column.target.kind == TargetKind::labels && !mark.empty())
        context.note(text(table.path, ": ", table.target_text(k),
                          ": no cell has ';', which stands between labels, and ", in_quotes(mark),
                          " may be meant so; write red;round for the labels red and round"));
    }
    column.target.names = column.classes->names();
    column.target.width = int64_t(column.target.names.size());
  }
}

// One target has classes if its cells say so; several are numbers of one target.
void CsvTargets::learn_one(const CsvParams& params, const Table& table, const DataContext& context) {
  if (table.targets.size() > 1) {
    if (params.task == "classes")
      fail(ErrorKind::config, "task: target names ", table.targets.size(),
           " columns, which are numbers of one target; for a class in each column, say targets: {", params.target[0],
           ": classes, ...}");
    return;
  }
  const FailAtLabel fail_at = fail_in(table, 0);
  const LabelNumbers numbers = label_numbers(table.targets[0], missing_, fail_at);
  if (params.task == "regression" || (params.task == "auto" && numbers.all_numbers && !numbers.all_whole)) return;
  for (size_t row = 0; params.task == "auto" && numbers.all_numbers && row < table.targets[0].size(); ++row)
    if (table.has_point(row, 0)) fail_at_point(table, 0, row);
  if (params.task == "auto" && !numbers.all_numbers && context.asks_about_texts())
    refuse_texts_meant_otherwise(table.targets[0], fail_at);
  Column& column = columns_[0];
  column.target.kind = TargetKind::classes;
  column.classes.emplace(table.targets[0], numbers.all_numbers, fail_at);
  const std::vector<std::string>& names = column.target.names = column.classes->names();
  if (params.task == "auto" && numbers.all_numbers && (names.size() > 1 || context.some_classes))
    if (const std::string what = ask_about_labels(numbers.smallest, numbers.largest, names.size()); !what.empty())
      fail(ErrorKind::config, table.path, ": the target has ", what, ": say task: classes or task: regression");
  if (names.size() < 2 && !context.some_classes)
    fail(ErrorKind::data, table.path, ": every target is ", in_quotes(names.front()), ": there is only one class");
}

// The classes of a net that was trained before.
void CsvTargets::know(Column& column, const DataContext& context) const {
  for (const NamedTarget& former : context.targets) {
    if (former.name != column.target.name || former.kind != column.target.kind) continue;
    const std::vector<std::string_view> names(former.names.begin(), former.names.end());
    column.classes.emplace(names, are_numbers(former.names), [](size_t, const std::string&) {});
  }
}

void CsvTargets::learn(Column& column, const Table& table, size_t k, bool some_classes) {
  const FailAtLabel fail_at = fail_in(table, k);
  const bool labels = column.target.kind == TargetKind::labels;
  std::vector<std::string_view> all = table.targets[k];
  std::vector<size_t> rows;  // of the labels
  if (labels) {
    all.clear();
    for (size_t row = 0; row < table.targets[k].size(); ++row)
      for_each_label(table.targets[k][row], [&](std::string_view label) { all.push_back(label), rows.push_back(row); });
    if (all.empty()) fail(ErrorKind::data, table.path, ": ", table.target_text(k), " has no label in any row");
  }
  const FailAtLabel fail_at_label = [&](size_t i, const std::string& message) {
    fail_at(labels ? rows[i] : i, message);
  };
  const LabelNumbers numbers = label_numbers(all, missing_, fail_at_label);
  column.classes.emplace(all, numbers.all_numbers, fail_at_label);
  const std::vector<std::string>& names = column.classes->names();
  if (!labels && names.size() < 2 && !some_classes)
    fail(ErrorKind::data, table.path, ": ", table.target_text(k), " is ", in_quotes(names.front()),
         " in every row: there is only one class");
}

void CsvTargets::describe(const Table& table, SampleMeaning& meaning) const {
  if (several_) {
    for (const Column& column : columns_) meaning.targets.push_back(column.target);
    return;
  }
  meaning.class_names = columns_[0].target.names;
  meaning.classes = int64_t(meaning.class_names.size());
  if (table.names.empty()) return;
  for (const size_t column : table.target_columns) meaning.target_names.push_back(table.names[column]);
}

Split CsvTargets::split_of(const Table& table) const {
  const auto n = int64_t(table.targets[0].size());
  Split out;
  out.inputs = table.features;
  if (has_class()) {
    out.targets = Tensor(DType::i32, {n});
    const auto to = out.targets.as<int32_t>();
    take_classes(table, 0, [&](size_t row, int64_t found) { to[row] = int32_t(found); });
    return out;
  }
  int64_t width = 0, first = 0;
  for (const Column& column : columns_) width += column.target.columns();
  out.targets = Tensor(DType::f32, {n, width});
  std::ranges::fill(out.targets.as<float>(), 0.0f);
  const auto to = out.targets.as<float>();
  for (size_t k = 0; k < columns_.size(); ++k) {
    const NamedTarget& target = columns_[k].target;
    const auto at = [&](size_t row) -> float& { return to[row * size_t(width) + size_t(first)]; };
    if (target.kind == TargetKind::labels)
      take_labels(table, k, [&](size_t row, int64_t label) -> float& { return (&at(row))[label]; });
    else if (target.kind == TargetKind::classes)
      take_classes(table, k, [&](size_t row, int64_t found) { at(row) = float(found); });
    else take_numbers(table, k, [&](size_t row, double value) { at(row) = float(value); });
    first += target.columns();
  }
  return out;
}

int64_t CsvTargets::class_of(const Table& table, size_t k, size_t row, std::string_view label) const {
  const LabelClasses& classes = *columns_[k].classes;
  const int64_t found = classes.find(label);
  if (found >= 0) return found;
  const bool labels = columns_[k].target.kind == TargetKind::labels;
  const std::string where = several_ ? table.target_text(k) + ": " : "";
  table.fail_at_target(row, k,
                       text(where, labels ? "label " : "class ", in_quotes(label), " is not one of the training file's",
                            did_you_mean(label, classes.names())));
}

void CsvTargets::take_classes(const Table& table, size_t k, auto&& put) const {
  for (size_t row = 0; row < table.targets[k].size(); ++row) put(row, class_of(table, k, row, table.targets[k][row]));
}

void CsvTargets::take_labels(const Table& table, size_t k, auto&& put) const {
  for (size_t row = 0; row < table.targets[k].size(); ++row)
    for_each_label(table.targets[k][row], [&](std::string_view label) {
      if (label.empty()) table.fail_at_target(row, k, text(table.target_text(k), " has an empty label"));
      float& present = put(row, class_of(table, k, row, label));
      if (present == 1) table.fail_at_target(row, k, text(table.target_text(k), " names ", in_quotes(label), " twice"));
      present = 1;
    });
}

void CsvTargets::take_numbers(const Table& table, size_t k, auto&& put) const {
  double value = 0;
  const auto advice = [&](std::string_view cell) {
    if (const std::string other = table.decimal == '.' ? other_decimal_text(cell, '.') : ""; !other.empty())
      return other;
    if (several_) return text("; targets: {", columns_[k].target.name, ": classes} takes texts");
    return std::string(boolean_of(cell) < 0 ? "" : kBooleanTarget);
  };
  for (size_t row = 0; row < table.targets[k].size(); ++row) {
    const std::string_view cell = table.targets[k][row];
    if (table.has_point(row, k)) fail_at_point(table, k, row);
    if (!parse_f32(cell, value))
      table.fail_at_target(row, k, text(table.target_text(k), ": ", no_f32_text(cell, missing_, advice(cell))));
    put(row, value);
  }
}

void CsvTargets::warn_of_steps(const Table& table, const Tensor& targets, const DataContext& context) const {
  if (has_class()) return;
  const int64_t width = targets.shape()[1];
  int64_t first = 0;
  for (size_t k = 0; k < columns_.size(); ++k) {
    const NamedTarget& target = columns_[k].target;
    const std::string found = target.kind == TargetKind::number ? f32_steps_text(targets, first, width) : std::string();
    if (!found.empty())
      context.warn(text(table.path, ": ", table.target_text(k), ": ", found, "; subtract one of them from all"));
    first += target.columns();
  }
}

void CsvTargets::standardize(Data& data, const DataContext& context) const {
  if (data.train.targets.empty() || has_class()) return;
  int64_t first = 0;
  const int64_t width = data.train.targets.shape()[1];
  std::vector<int64_t> all;
  Standard of_row;  // numbers stay as they are with mean 0 and deviation 1
  for (const Column& column : columns_) {
    const bool number = column.target.kind == TargetKind::number;
    for (int64_t i = 0; i < column.target.columns(); ++i, ++first) {
      const bool is_scaled = number && !(has_own_cost() && has_zeros_and_ones(data.train.targets, first));
      const Standard one =
          is_scaled ? standard_of(data.train.targets, 0, data.train.size(), {first}) : Standard{{0}, {1}};
      of_row.means.push_back(one.means[0]);
      of_row.deviations.push_back(one.deviations[0]);
    }
  }
  if (!several_ && context.target_standard) of_row = *context.target_standard;
  for (const NamedTarget& former : context.targets)  // of a net that reconstructs its samples, too
    if (!several_ && former.name == kValueTarget && !former.standard.empty()) of_row = former.standard;
  first = 0;
  for (NamedTarget& target : data.targets) {
    for (const NamedTarget& former : context.targets)
      if (former.name == target.name && !former.standard.empty()) {
        std::ranges::copy(former.standard.means, of_row.means.begin() + first);
        std::ranges::copy(former.standard.deviations, of_row.deviations.begin() + first);
      }
    if (target.kind == TargetKind::number)
      target.standard = {{of_row.means[size_t(first)]}, {of_row.deviations[size_t(first)]}};
    first += target.columns();
  }
  if (!several_) data.target_standard = of_row;
  for (Split* split : {&data.train, &data.validation, &data.test}) {
    if (split->size() == 0) continue;
    const auto values = split->targets.as<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t k = i % size_t(width);
      if (of_row.means[k] != 0 || of_row.deviations[k] != 1)
        values[i] = float((double(values[i]) - of_row.means[k]) / of_row.deviations[k]);
    }
  }
}

}  // namespace neon
