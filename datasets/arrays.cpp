#include "datasets/arrays.h"

#include <algorithm>
#include <cmath>

#include "datasets/channels.h"

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

bool are_labels(bool floating, const Shape& targets, const ArrayParams& params) {
  if (params.regression) return false;
  const bool one_each = targets.rank() == 1 || (targets.rank() == 2 && targets[1] == 1);
  return params.classes > 0 || (!floating && one_each);
}

namespace {

Tensor values(const Tensor& raw, const std::string& name) {
  Tensor out = raw.dtype() == DType::u8 ? raw.converted(DType::f32) : input_array(raw, name);
  return out.shape().rank() == 1 ? out.reshaped({out.shape()[0], 1}) : out;
}

void check_targets(const RawSplit& raw) {
  if (raw.targets.shape().rank() == 0 || raw.targets.shape()[0] != raw.inputs.shape()[0])
    fail(ErrorKind::data, raw.targets_name, ": has shape ", raw.targets.shape(), ", but ", raw.inputs_name, " has ",
         raw.inputs.shape()[0], " samples");
}

// Rows of a file as samples of that shape, images with their channels last.
Tensor arranged(const Tensor& rows, const Shape& sample, bool channels_last) {
  const Shape count{rows.shape()[0]};
  if (sample.rank() != 3) return rows.reshaped(count.concat(sample));
  if (channels_last) return rows.reshaped(count.concat({sample[1], sample[2], sample[0]}));
  return with_channels_last(rows.reshaped(count.concat(sample)));
}

Split split_of(const ArrayParams& params, const RawSplit& raw, Data& data) {
  const Shape sample = sample_shape(raw.inputs.shape(), params, raw.inputs_name);
  if (data.sample.rank() == 0) data.sample = sample;
  if (sample != data.sample)
    fail(ErrorKind::data, raw.inputs_name, ": its samples are ", sample, ", those to train with are ", data.sample);
  Split out;
  out.inputs = arranged(input_array(raw.inputs, raw.inputs_name), sample, params.channels_last);
  if (raw.targets.empty()) return out;
  check_targets(raw);
  out.targets = data.classes > 0 ? class_labels(raw.targets, data.classes, raw.targets_name)
                                 : values(raw.targets, raw.targets_name);
  return out;
}

}  // namespace

void interpret(const ArrayParams& params, const RawSplit& train, const RawSplit& test, Data& data) {
  if (!train.targets.empty() && are_labels(is_floating(train.targets.dtype()), train.targets.shape(), params))
    data.classes = params.classes > 0 ? params.classes : count_classes(train.targets, train.targets_name);
  data.train = split_of(params, train, data);
  if (!test.inputs.empty()) {
    if (test.targets.empty() != train.targets.empty())
      fail(ErrorKind::data, test.inputs_name, ": only one of the training and the test set has targets");
    data.test = split_of(params, test, data);
    if (!data.test.targets.empty() && data.test.targets.shape().with(0, 1) != data.train.targets.shape().with(0, 1))
      fail(ErrorKind::data, test.targets_name, ": its targets have shape ", data.test.targets.shape(),
           ", those to train with ", data.train.targets.shape());
  }
  data.channels_last = data.sample.rank() == 3;
  data.rows_channels_last = params.channels_last;
  data.scale = params.scale;
  data.shift = params.shift;
}

}  // namespace neon
