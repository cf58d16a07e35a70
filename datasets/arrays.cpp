#include "datasets/arrays.h"

#include <algorithm>
#include <cmath>

#include "datasets/array_sequences.h"
#include "datasets/channels.h"
#include "datasets/f32_steps.h"
#include "datasets/labels.h"

namespace neon {

Shape sample_shape(const Shape& inputs, const ArrayParams& params, const std::string& name) {
  if (inputs.rank() < 2)
    fail(ErrorKind::data, name, ": has shape ", inputs, ", expected a row of features, or an image, for each sample");
  if (inputs.rank() > Shape::kMaxRank - 1 || inputs[0] == 0 || inputs.elements() == 0)
    fail(ErrorKind::data, name, ": has shape ", inputs, ": there is nothing to train with");
  const Shape own = inputs.slice(1, inputs.rank());
  Shape wanted{std::span<const int64_t>(params.lshape)};
  if (params.lshape.empty()) wanted = params.channels_last && own.rank() == 3 ? Shape{own[2], own[0], own[1]} : own;
  if (params.channels_last && wanted.rank() != 3)
    fail(ErrorKind::config, "channels_last: is for images, a sample of ", name, " is ", wanted,
         "; leave it out, or give lshape: [C, H, W]");
  if (wanted.elements() != own.elements())
    fail(ErrorKind::config, "lshape: ", wanted, " has ", wanted.elements(), " elements, a sample of ", name, " has ",
         own.elements());
  return wanted;
}

Shape target_shape(const Shape& targets) { return targets.rank() < 2 ? Shape{1} : targets.slice(1, targets.rank()); }

namespace {

// The shape of numbers (n,T) beside sequences of different lengths, of T steps at most: one for each step, (n,T,1).
// Other shapes stay.
Shape with_steps_apart(const Shape& targets, const SampleMeaning& data) {
  const bool of_steps = data.ragged && data.classes == 0 && data.sample.rank() == 2 && targets.rank() == 2;
  return of_steps && targets[1] == data.sample[0] ? targets.concat({1}) : targets;
}

}  // namespace

bool is_one_hot(const Tensor& targets) {
  const int64_t width = targets.shape()[1];
  for (int64_t row = 0; row < targets.shape()[0]; ++row) {
    int64_t ones = 0;
    for (int64_t k = 0; k < width; ++k) {
      const double value = targets.at(row * width + k);
      if (value != 0 && value != 1) return false;
      ones += value == 1;
    }
    if (ones != 1) return false;
  }
  return true;
}

namespace {

bool is_one_each(const Shape& targets) { return targets.rank() == 1 || (targets.rank() == 2 && targets[1] == 1); }

// (n, k) one-hot -> (n) labels
Tensor labels_of_rows(const Tensor& targets) {
  const int64_t width = targets.shape()[1];
  Tensor out(DType::i32, Shape{targets.shape()[0]});
  for (int64_t i = 0; i < targets.elements(); ++i)
    if (targets.at(i) == 1) out.set(i / width, double(i % width));
  return out;
}

// -1 is no label of a step.
int64_t count_labels(const Tensor& targets, bool of_steps, const DataContext& context, const std::string& name) {
  const int64_t out = count_classes(targets, name);
  if (context.rules < 2) return out;
  std::vector<bool> seen(static_cast<size_t>(out));
  double smallest = targets.elements() > 0 && !of_steps ? targets.at(0) : double(out);
  for (int64_t i = 0; i < targets.elements(); ++i) {
    const double value = targets.at(i);
    if (!of_steps || value != -1) smallest = std::min(smallest, value);
    if (value >= 0) seen[size_t(value)] = true;
  }
  const auto different = size_t(std::ranges::count(seen, true));
  double largest = 0;
  for (size_t k = 0; k < seen.size(); ++k)
    if (seen[k]) largest = double(k);
  if (smallest < 0) return out;  // refused as a label
  if (const std::string what = ask_about_labels(smallest, largest, different); !what.empty())
    fail(ErrorKind::config, name, ": its labels are ", what, ": say classes: ", largest + 1,
         " where some have no sample, regression: true for values, or number them from 0");
  return out;
}

// Throws where counted labels are all 0.
void refuse_one_class(const Tensor& labels, bool of_steps, const ArrayParams& params, const DataContext& context,
                      const std::string& name) {
  if (params.classes > 0 || params.label_sequences || context.rules < kRulesOfTargetClasses || context.some_classes)
    return;
  for (int64_t i = 0; i < labels.elements(); ++i)
    if (labels.at(i) != 0 && (!of_steps || labels.at(i) != -1)) return;
  fail(ErrorKind::data, name, ": every label is 0: there is only one class; say classes: 2 where the other has no ",
       "sample, or regression: true for values");
}

// The number of classes of sequences of labels.
int64_t label_classes(const Tensor& targets, const ArrayParams& params, const std::string& name) {
  const int64_t end = params.end_class.value_or(-1);
  if (params.classes == 0) return std::max(count_classes(targets, name), end + 1);
  if (end >= params.classes)
    fail(ErrorKind::config, "end_class: ", end, " is not among the classes 0 to ", params.classes - 1,
         "; give classes: ", end + 1);
  return params.classes;
}

}  // namespace

bool label_pixels(bool floating, const Shape& targets, const Shape& sample, const ArrayParams& params,
                  const DataContext& context) {
  if (context.rules < 2 || params.regression || sample.rank() != 3 || (floating && params.classes == 0)) return false;
  const int last = targets.rank() - 1;
  const bool one_each = last == 2 || (last == 3 && targets[1] == 1);
  return one_each && targets[last - 1] == sample[1] && targets[last] == sample[2];
}

bool label_steps(bool floating, const Shape& targets, const Shape& sample, const ArrayParams& params,
                 const DataContext& context) {
  if (context.rules < kRulesOfStepClasses || (!params.sequences && params.tokens == 0)) return false;
  if (params.regression || params.label_sequences || (floating && params.classes == 0)) return false;
  return is_one_each(targets.slice(1, targets.rank())) && targets[1] == sample[0] && sample[0] > 1;
}

bool may_be_classes(bool floating, const Shape& targets, const Shape& sample, const ArrayParams& params,
                    const DataContext& context) {
  if (params.label_sequences) return true;
  if (params.regression) return false;
  return params.classes > 0 || label_pixels(floating, targets, sample, params, context) ||
         label_steps(floating, targets, sample, params, context) || (!floating && is_one_each(targets)) ||
         (targets.rank() == 2 && targets[1] > 1);
}

bool are_classes_of_steps(const Tensor& targets, const Shape& sample, const ArrayParams& params,
                          const DataContext& context, const std::string& name) {
  const Shape& shape = targets.shape();
  if (!label_steps(is_floating(targets.dtype()), shape, sample, params, context)) return false;
  const int64_t steps = shape[1];
  if (shape.rank() == 3 || (params.classes > 0 && params.classes != steps) || !is_one_hot(targets)) return true;
  if (params.classes == 0)
    fail(ErrorKind::config, name, ": has shape ", shape, " and one 1 among zeros in each row: say classes: ", steps,
         " where a row is one of ", steps, " classes",
         steps > 2 ? ", classes: 2 where each of the " : ", or store (n, 2, 1) where each of the ", steps,
         " steps has a class, or regression: true for values");
  return false;
}

int64_t classes_of(const Tensor& targets, const Shape& sample, const ArrayParams& params, const DataContext& context,
                   const std::string& name) {
  const Shape& shape = targets.shape();
  if (!may_be_classes(is_floating(targets.dtype()), shape, sample, params, context)) return 0;
  if (params.label_sequences) return label_classes(targets, params, name);
  if (are_classes_of_steps(targets, sample, params, context, name))
    return params.classes > 0 ? params.classes : count_labels(targets, true, context, name);
  if (shape.rank() == 2 && shape[1] > 1) {
    const bool hot = context.rules >= 2 && is_one_hot(targets);
    if (hot && (params.classes == 0 || params.classes == shape[1])) return shape[1];
    if (params.classes == 0) return 0;
  }
  if ((params.sequences || params.tokens > 0) && !is_one_each(shape))
    fail(ErrorKind::data, name, ": labels have shape ", shape, ", expected one number a sample, (n) or (n, 1), or one ",
         "a step, (n, ", sample[0], ")");
  return params.classes > 0 ? params.classes : count_labels(targets, false, context, name);
}

namespace {

// The meaning of arrays with these headers, without the classes.
SampleMeaning meaning_of_arrays(const ArrayParams& params, const SplitForm& train) {
  SampleMeaning out;
  out.sample = sample_shape(train.inputs.shape, params, train.inputs.name);
  out.channels_last = out.is_image();
  out.rows_channels_last = params.channels_last;
  out.dtype = train.inputs.dtype;
  out.scale = params.scale;
  out.shift = params.shift;
  out.whole_targets = !train.targets.name.empty() && !train.targets.floating;
  const bool tokens = params.tokens > 0;
  if (tokens && out.sample.rank() != 1)
    fail(ErrorKind::config, "tokens: is for samples (T) of T whole numbers, a sample of ", train.inputs.name, " is ",
         out.sample, "; leave it out");
  if (tokens && (params.scale != 1 || params.shift != 0))
    fail(ErrorKind::config, "tokens: are no quantities; leave scale and shift out");
  if (params.sequences && !tokens && out.sample.rank() != 2)
    fail(ErrorKind::config, "sequences: is for samples (T,F) of T steps, a sample of ", train.inputs.name, " is ",
         out.sample, out.sample.rank() == 1 ? "; give tokens: N, if these are whole numbers below N, or " : "; ",
         "leave it out");
  if (params.label_sequences && !params.sequences && !tokens)
    fail(ErrorKind::config, "label_sequences: is for samples that are sequences; give sequences: true, too");
  if (params.end_class && !params.label_sequences)
    fail(ErrorKind::config, "end_class: ends sequences of labels; give label_sequences: true, or leave it out");
  if (params.label_sequences && train.targets.name.empty())
    fail(ErrorKind::config, "label_sequences: ", train.inputs.name, " has no targets; leave it out");
  out.sequence = params.sequences || tokens;
  out.ragged = tokens || (params.sequences && train.inputs.floating);
  out.tokens = params.tokens;
  if (tokens) out.dtype = DType::i32;
  if (params.label_sequences) out.label_of = params.end_class ? LabelOf::step : LabelOf::sequence;
  if (params.end_class) out.end_class = *params.end_class;
  return out;
}

ArrayForm form_of_array(const Tensor& array, const std::string& name) {
  if (array.empty()) return {};
  return {name, array.shape(), is_floating(array.dtype())};
}

}  // namespace

namespace {

// Whole numbers (n, L) beside sequences of T steps are values to predict, and may be meant as labels of steps.
void warn_of_numbers(const ArrayParams& params, const ArrayForm& targets, const SampleMeaning& data,
                     const DataContext& context) {
  const Shape& shape = targets.shape;
  const bool may_be_labels = data.sequence && data.classes == 0 && !params.regression && shape.rank() == 2 &&
                             shape[1] > 1 && !targets.floating && context.rules >= kRulesOfStepClasses;
  if (may_be_labels)
    context.warn(text(targets.name, ": ", shape[1], " whole numbers for each sequence of ", data.sample[0],
                      " steps are values to predict; classes of steps are ", data.sample[0],
                      " numbers. regression: true says that values are meant"));
}

// The most labels of the training targets, with the class that ends them; false of `given`: neon puts it there.
struct Ends {
  bool given;
  int64_t most;
};
Ends ends_of(const Tensor& raw, const SampleMeaning& data, const std::string& name) {
  const bool given = have_end(label_rows(raw, data.classes, name), data.end_class);
  return {given, raw.shape()[1] + (given ? 0 : 1)};
}

}  // namespace

void check_arrays(const ArrayParams& params, const SplitForm& train, const SplitForm& test, const DataContext& context,
                  const std::function<Tensor()>& read_targets, bool autoencoder, DataCheck& out) {
  const ArrayForm& targets = train.targets;
  out.found = true;
  out.meaning() = meaning_of_arrays(params, train);
  out.train_size = train.inputs.shape[0];
  if (!test.inputs.name.empty()) out.test_size = test.inputs.shape[0];
  if (targets.name.empty()) return;
  out.target = target_shape(targets.shape);
  if (label_pixels(targets.floating, targets.shape, out.sample, params, context)) out.target = out.sample.slice(1, 3);
  if (!may_be_classes(targets.floating, targets.shape, out.sample, params, context)) {
    out.target = target_shape(with_steps_apart(targets.shape, out));
    return;
  }
  const Tensor labels = read_targets();
  out.classes = classes_of(labels, out.sample, params, context, targets.name);
  warn_of_numbers(params, targets, out, context);
  const bool of_steps = are_classes_of_steps(labels, out.sample, params, context, targets.name);
  if (of_steps) out.label_of = LabelOf::step, out.target = {out.sample[0]};
  if (params.end_class) {
    out.target_steps = ends_of(labels, out, targets.name).most;
    out.target = {out.target_steps};
  }
  if (out.classes > 0 && !autoencoder) refuse_one_class(labels, of_steps, params, context, targets.name);
  if (out.classes == 0 || of_steps || params.end_class || labels.elements() != out.train_size) return;
  out.class_counts.resize(size_t(out.classes));
  const Tensor numbers = class_labels(labels, out.classes, targets.name);
  for (const int32_t label : numbers.as<int32_t>()) ++out.class_counts[size_t(label)];
}

namespace {

Tensor values(const Tensor& raw, const std::string& name) {
  Tensor out = raw.dtype() == DType::u8 ? raw.converted(DType::f32) : input_array(raw, name);
  return out.shape().rank() == 1 ? out.reshaped({out.shape()[0], 1}) : out;
}

// Rows of a file as samples of that shape, images with their channels last.
Tensor arranged(const Tensor& rows, const Shape& sample, bool channels_last) {
  const Shape count{rows.shape()[0]};
  if (sample.rank() != 3) return rows.reshaped(count.concat(sample));
  if (channels_last) return rows.reshaped(count.concat({sample[1], sample[2], sample[0]}));
  return with_channels_last(rows.reshaped(count.concat(sample)));
}

// The same arrays with as many steps as the data have. Targets are of steps where those to train with, of the shape
// `trained`, are: as many numbers a sample as these arrays have steps may be others.
RawSplit with_steps_of(const SampleMeaning& data, const RawSplit& given, const Shape& trained) {
  const int64_t steps = data.sample[0], own = given.inputs.shape()[1];
  if (!data.ragged || own >= steps) return given;
  RawSplit out = given;
  out.inputs = with_more_steps(given.inputs, steps, data.tokens > 0 ? -1 : std::nan(""));
  const auto have = [](const Shape& targets, int64_t count) { return targets.rank() > 1 && targets[1] == count; };
  const bool of_steps = !given.targets.empty() && have(given.targets.shape(), own) && have(trained, steps);
  const bool labels = data.label_of == LabelOf::step && data.end_class < 0;
  const bool numbers = data.classes == 0 && of_steps;
  if (of_steps && (labels || numbers)) out.targets = with_more_steps(given.targets, steps, labels ? -1 : 0);
  return out;
}

Split split_of(const ArrayParams& params, const RawSplit& given, const Data& data, const Shape& trained, bool one_hot,
               const DataContext& context) {
  const RawSplit raw = with_steps_of(data, given, trained);
  Split out;
  if (data.tokens > 0) out.inputs = token_rows(raw.inputs, data.tokens, data.ragged, raw.inputs_name);
  else out.inputs = arranged(inputs_like(data, raw.inputs, raw.inputs_name), data.sample, params.channels_last);
  if (raw.targets.empty()) return out;
  if (one_hot && !is_one_hot(raw.targets))
    fail(ErrorKind::data, raw.targets_name,
         ": expected one 1 among zeros in each row, as in the training set; a row has other values");
  const Shape &targets = raw.targets.shape(), area = data.sample.slice(1, data.sample.rank());
  if (params.label_sequences) {
    out.targets = label_rows(raw.targets, data.classes, raw.targets_name);
    if (params.end_class) {
      const bool given = out.targets.shape()[1] == data.target_steps;
      out.targets = ended_rows(out.targets, data.end_class, given, raw.targets_name);
    }
  } else if (data.label_of == LabelOf::step) {
    out.targets = step_labels(raw.targets, out.inputs, data.classes, raw.targets_name);
  } else if (one_hot) out.targets = labels_of_rows(raw.targets);
  else if (label_pixels(is_floating(raw.targets.dtype()), targets, data.sample, params, context))
    out.targets = pixel_labels(raw.targets, data.classes, raw.targets_name).reshaped(Shape{targets[0]}.concat(area));
  else if (data.classes > 0) out.targets = class_labels(raw.targets, data.classes, raw.targets_name);
  else if (const Shape apart = with_steps_apart(targets, data);
           data.ragged && apart.rank() == 3 && apart[1] == data.sample[0])
    out.targets = values(step_values(raw.targets.reshaped(apart), out.inputs), raw.targets_name);
  else out.targets = values(raw.targets, raw.targets_name);
  out.targets = out.targets.reshaped(with_steps_apart(out.targets.shape(), data));
  return out;
}

}  // namespace

void interpret(const ArrayParams& params, const RawSplit& train, const RawSplit& test, const DataContext& context,
               bool autoencoder, Data& data) {
  data.meaning() = meaning_of_arrays(
      params, {form_of_array(train.inputs, train.inputs_name), form_of_array(train.targets, train.targets_name)});
  if (!train.targets.empty())
    data.classes = classes_of(train.targets, data.sample, params, context, train.targets_name);
  const bool of_steps =
      data.classes > 0 && are_classes_of_steps(train.targets, data.sample, params, context, train.targets_name);
  if (of_steps) data.label_of = LabelOf::step;
  if (data.classes > 0 && !autoencoder) refuse_one_class(train.targets, of_steps, params, context, train.targets_name);
  const Shape targets = train.targets.shape();
  const bool one_hot = !params.label_sequences && !of_steps && targets.rank() == 2 && targets[1] > 1 &&
                       data.classes == targets[1] && is_one_hot(train.targets);
  if (!train.targets.empty()) warn_of_numbers(params, form_of_array(train.targets, train.targets_name), data, context);
  if (data.tokens == 0)
    warn_of_f32_steps(train.inputs, data.sample.rank() == 1 || data.sequence, train.inputs_name, context);
  if (data.classes == 0 && !train.targets.empty())
    warn_of_f32_steps(train.targets, targets.rank() == 2, train.targets_name, context);
  if (params.end_class) data.target_steps = ends_of(train.targets, data, train.targets_name).most;
  data.train = split_of(params, train, data, targets, one_hot, context);
  if (!test.inputs.empty()) data.test = split_of(params, test, data, targets, one_hot, context);
}

}  // namespace neon
