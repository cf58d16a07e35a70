#include "datasets/array_targets.h"

#include <algorithm>
#include <cmath>

#include "datasets/f32_steps.h"
#include "datasets/labels.h"

namespace neon {

namespace {

bool has_one_number(const Shape& shape) { return shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1); }

void check_rank(const Tensor& array, const std::string& name) {
  if (array.shape().rank() < 1 || array.shape().rank() > 2)
    fail(ErrorKind::data, name, ": has shape ", array.shape(),
         ", expected (n) or (n, k); targets that are images are for a data set with one target");
}

// Labels of the steps of sequences (n,T), or numbers (n,T,K), are no rows of a target.
void refuse_steps(const Tensor& array, const std::string& name, const SampleMeaning& samples,
                  const ArrayParams& params) {
  const Shape& shape = array.shape();
  if (!samples.sequence || shape.rank() < 2 || shape[1] != samples.sample[0] || shape[1] < 2) return;
  const bool labels = shape.rank() == 2 && !is_floating(array.dtype()) && !params.regression;
  if (labels || shape.rank() == 3)
    fail(ErrorKind::data, name, ": has shape ", shape, labels ? ", a label" : ", numbers",
         " for each step of sequences of ", shape[1], "; targets of steps are for a data set with one target",
         labels ? ", and regression: true takes rows of numbers" : "");
}

bool are_zeros_and_ones(const Tensor& array) {
  for (int64_t i = 0; i < array.elements(); ++i)
    if (array.at(i) != 0 && array.at(i) != 1) return false;
  return true;
}

int64_t count_classes_of(const Tensor& array, const std::string& name) {
  std::vector<double> labels;
  for (int64_t i = 0; i < array.elements(); ++i) labels.push_back(array.at(i));
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (const std::string what = ask_about_labels(labels.front(), labels.back(), labels.size()); !what.empty())
    fail(ErrorKind::config, name, ": its labels are ", what,
         ": number classes from 0, or store numbers to predict as floats");
  if (labels.size() < 2) fail(ErrorKind::data, name, ": every label is 0: there is only one class");
  return int64_t(labels.size());
}

NamedTarget described(const std::string& name, const Tensor& array, const std::string& place,
                      const ArrayParams& params) {
  NamedTarget out;
  out.name = name;
  if (has_one_number(array.shape())) {
    if (params.regression || is_floating(array.dtype())) return out;
    out.kind = TargetKind::classes;
    out.width = count_classes_of(array, place);
    return out;
  }
  out.width = array.shape()[1];
  if (params.regression || !are_zeros_and_ones(array)) return out;
  out.kind = is_one_hot(array) ? TargetKind::classes : TargetKind::labels;
  return out;
}

// Writes target k of all rows, `first` being its place among `width` numbers.
void put(const NamedTarget& target, const Tensor& array, const std::string& place, int64_t first, int64_t width,
         std::span<float> to) {
  const int64_t own = array.shape().rank() == 1 ? 1 : array.shape()[1], samples = array.shape()[0];
  const bool one_hot = target.kind == TargetKind::classes && own > 1;
  if (own != (one_hot ? target.width : target.columns()))
    fail(ErrorKind::data, place, ": has shape ", array.shape(), ", and the target ", target.name, " has ", target.width,
         " ", target.kind == TargetKind::number ? "numbers" : name_of(target.kind), " in the training samples");
  if (one_hot && !is_one_hot(array))
    fail(ErrorKind::data, place, ": expected one 1 among zeros in each row, as in the training samples");
  for (int64_t row = 0; row < samples; ++row)
    for (int64_t k = 0; k < own; ++k) {
      const double value = array.at(row * own + k);
      const auto refuse = [&](const std::string& expected) {
        fail(ErrorKind::data, place, ": row ", row, " has ", value, ", expected ", expected);
      };
      if (!std::isfinite(value) || std::abs(value) > 3.4e38) refuse("a finite number of at most 3.4e38");
      if (target.kind == TargetKind::labels && value != 0 && value != 1) refuse("0 or 1 for each label");
      float& cell = to[size_t(row * width + first)];
      if (one_hot) {
        if (value == 1) cell = float(k);
        continue;
      }
      if (target.kind == TargetKind::classes &&
          (value != std::floor(value) || value < 0 || value >= double(target.width)))
        refuse(text("a class from 0 to ", target.width - 1));
      to[size_t(row * width + first + k)] = float(value);
    }
}

}  // namespace

void check_one_target_alone(const ArrayParams& params, const TargetArrays& targets) {
  if (targets.empty()) return;
  if (params.classes > 0)
    fail(ErrorKind::config, "classes: is the number of classes of one target; the arrays of targets have their own, ",
         "leave it out");
  if (params.label_sequences)
    fail(ErrorKind::config, "label_sequences: is for one target; targets have numbers, classes and labels of samples");
}

std::vector<NamedTarget> describe_targets(const TargetArrays& targets, const ArrayParams& params,
                                          const SampleMeaning& samples, const DataContext& context,
                                          const ReadTarget& read) {
  if (!context.targets.empty()) return context.targets;
  std::vector<NamedTarget> out;
  for (const auto& [name, array] : targets) {
    const auto [values, place] = read(array);
    refuse_steps(values, place, samples, params);
    check_rank(values, place);
    if (values.elements() == 0) fail(ErrorKind::data, place, ": has shape ", values.shape(), ": it is empty");
    out.push_back(described(name, values, place, params));
    if (out.back().kind == TargetKind::number) warn_of_f32_steps(values, true, place, context);
  }
  return out;
}

Tensor rows_of_targets(const std::vector<NamedTarget>& described, const TargetArrays& targets, int64_t samples,
                       const ReadTarget& read) {
  const int64_t width = columns_of(described);
  Tensor out(DType::f32, {samples, width});
  for (size_t k = 0; k < targets.size(); ++k) {
    const auto [array, place] = read(targets[k].second);
    check_rank(array, place);
    if (array.shape()[0] != samples)
      fail(ErrorKind::data, place, ": has shape ", array.shape(), ", but there are ", samples, " samples: expected (",
           samples, ") or (", samples, ", k)");
    put(described[k], array, place, first_column_of(described, k), width, out.as<float>());
  }
  return out;
}

}  // namespace neon
