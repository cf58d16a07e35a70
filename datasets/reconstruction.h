// Samples as targets of their own, beside those that a data set has (Dataset::Common::reconstruct).
#pragma once
#include "datasets/dataset.h"

namespace neon {

// The names of a target of numbers that had none, and of the target that is the sample.
constexpr const char *kValueTarget = "value", *kSampleTarget = "sample";

// The targets of such a set: those it had, and one named `sample`. Throws a config error for sequences, and for targets
// of several axes. `target`: the shape of one target.
std::vector<NamedTarget> targets_with_samples(const SampleMeaning& meaning, const Shape& target,
                                              const std::string& source);

// Whether the last target is the sample itself, an image in the order (C,H,W). Inline, for graphs that link no readers.
inline bool has_image_as_target(const SampleMeaning& meaning) {
  if (meaning.targets.empty() || !meaning.is_image()) return false;
  const NamedTarget& last = meaning.targets.back();
  return last.name == kSampleTarget && last.kind == TargetKind::number && last.width == meaning.sample.elements();
}

// Writes the samples behind the targets, in the numbers that the net sees before `normalize`.
void add_samples_to_targets(Data& data);

}  // namespace neon
