#include "datasets/reconstruction.h"

#include <algorithm>

#include "datasets/streaming.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// Place of number k of a sample, in the order of its axes (C,H,W), as it lies in memory.
int64_t stored_place(const SampleMeaning& meaning, int64_t k) {
  if (!meaning.channels_last) return k;
  const int64_t channels = meaning.sample[0], pixels = meaning.sample[1] * meaning.sample[2];
  return k % pixels * channels + k / pixels;
}

// Rows (n,columns): the targets as they were, then the samples.
Tensor joined(const Split& split, const SampleMeaning& meaning, int64_t own_columns) {
  const int64_t n = split.size(), numbers = meaning.sample.elements(), columns = own_columns + numbers;
  check_room_to_hold(4 * double(n) * double(columns), "the samples as targets");
  Tensor out(DType::f32, {n, columns});
  for (int64_t i = 0; i < n; ++i) {
    const auto row = out.rows(i, 1).as<float>();
    for (int64_t k = 0; k < own_columns; ++k) row[size_t(k)] = float(split.targets.at(i * own_columns + k));
    for (int64_t k = 0; k < numbers; ++k)
      row[size_t(own_columns + k)] =
          float(split.inputs.at(i * numbers + stored_place(meaning, k))) * meaning.scale + meaning.shift;
  }
  return out;
}

}  // namespace

std::vector<NamedTarget> targets_with_samples(const SampleMeaning& meaning, const Shape& target,
                                              const std::string& source) {
  if (meaning.tokens > 0 || meaning.ragged || meaning.sequence)
    fail(ErrorKind::config, "reconstruct: the samples of ", source,
         " are sequences, and no target for a row of outputs; ", "leave it out");
  if ((meaning.classes > 0 && meaning.label_of != LabelOf::sample) || target.rank() > 1)
    fail(ErrorKind::config, "reconstruct: the targets of ", source,
         " are more than a class or a row of numbers for each sample; leave it out");
  std::vector<NamedTarget> out = meaning.targets;
  if (out.empty() && meaning.classes > 0)
    out.push_back({"class", TargetKind::classes, meaning.classes, meaning.class_names, {}});
  else if (out.empty() && target.rank() == 1)
    out.push_back({kValueTarget, TargetKind::number, target[0], {}, meaning.target_standard});
  if (std::ranges::count(out, kSampleTarget, &NamedTarget::name))
    fail(ErrorKind::config, "reconstruct: ", source, " has a target named ", kSampleTarget, " already");
  out.push_back({kSampleTarget, TargetKind::number, meaning.sample.elements(), {}, {}});
  return out;
}

void add_samples_to_targets(Data& data) {
  Split& first = data.train;
  if (first.reader || first.rows)
    fail(ErrorKind::config, "reconstruct: the samples of ", data.source,
         " are streamed, and only those in memory can be targets; leave `stream` out");
  const Shape target = first.targets.empty() ? Shape{} : first.targets.shape().slice(1, first.targets.shape().rank());
  const std::vector<NamedTarget> targets =
      targets_with_samples(data.meaning(), data.classes > 0 ? Shape{1} : target, data.source);
  const int64_t own = first_column_of(targets, targets.size() - 1);
  for (Split* split : {&data.train, &data.test, &data.validation})
    if (split->size() > 0) split->targets = joined(*split, data.meaning(), own);
  data.drop_classes();
  data.target_standard = {};
  data.targets = targets;
}

}  // namespace neon
