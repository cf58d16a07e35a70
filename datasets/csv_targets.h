// The targets of a table: classes, numbers or labels, and the arrays that they become.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "datasets/csv_table.h"
#include "datasets/labels.h"

namespace neon {

class CsvTargets {
 public:
  // Learns the classes from a training file, which is borrowed. A net that was trained before gives its own
  // (DataContext::targets).
  CsvTargets(const CsvParams& params, const Table& table, const DataContext& context);

  // Sets the meaning of the targets.
  void describe(const Table& table, SampleMeaning& meaning) const;
  // The samples of this file, or of another one of the same columns.
  Split split_of(const Table& table) const;
  // Warns of numbers of these rows, which split_of() has given, that f32 keeps only in steps.
  void warn_of_steps(const Table& table, const Tensor& targets, const DataContext& context) const;
  // Brings numbers to mean 0 and deviation 1, measured on the training rows.
  void standardize(Data& data, const DataContext& context) const;

 private:
  struct Column {
    NamedTarget target;
    std::optional<LabelClasses> classes;  // of kind classes or labels
  };
  // Classes or labels of the only target of a table.
  bool has_class() const { return !several_ && columns_[0].target.kind == TargetKind::classes; }
  // Whether each column is compared by itself.
  bool has_own_cost() const { return several_ || columns_.size() == 1; }
  void learn_one(const CsvParams& params, const Table& table, const DataContext& context);
  void learn(Column& column, const Table& table, size_t k, bool some_classes);
  void know(Column& column, const DataContext& context) const;
  void take_classes(const Table& table, size_t k, auto&& put) const;
  void take_labels(const Table& table, size_t k, auto&& put) const;
  void take_numbers(const Table& table, size_t k, auto&& put) const;
  int64_t class_of(const Table& table, size_t k, size_t row, std::string_view label) const;

  const MissingMarks missing_;
  const bool several_;  // the spec names the kind of each
  std::vector<Column> columns_;
};

}  // namespace neon
