#include "datasets/class_sizes.h"

namespace neon {

namespace {

int64_t entries_of(const NamedTarget& target) { return target.kind == TargetKind::number ? 0 : target.width; }

int64_t first_entry_of(const std::vector<NamedTarget>& targets, size_t k) {
  int64_t out = 0;
  for (size_t i = 0; i < k; ++i) out += entries_of(targets[i]);
  return out;
}

std::vector<int64_t> sizes_of_several(const Split& split, const std::vector<NamedTarget>& targets) {
  std::vector<int64_t> out(size_t(first_entry_of(targets, targets.size())), 0);
  if (split.targets.empty()) return out;
  for (size_t k = 0; k < targets.size(); ++k) {
    const int64_t first = first_entry_of(targets, k), entries = entries_of(targets[k]);
    std::vector<double> row(size_t(targets[k].width));
    for (int64_t i = 0; entries > 0 && i < split.size(); ++i) {
      put_compared(targets, k, split.targets, i, row.data());
      for (int64_t c = 0; c < entries; ++c) out[size_t(first + c)] += row[size_t(c)] != 0;
    }
  }
  return out;
}

}  // namespace

std::vector<int64_t> class_sizes(const Split& split, const SampleMeaning& meaning, const std::string& source) {
  if (!meaning.targets.empty()) return sizes_of_several(split, meaning.targets);
  std::vector<int64_t> out(size_t(meaning.classes), 0);
  const int64_t count = meaning.classes > 0 && split.size() > 0 ? split.label_count() : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t label = split.label(i);
    if (label < 0 && meaning.label_of != LabelOf::sample && meaning.label_of != LabelOf::pixel) continue;
    if (label < 0 || label >= meaning.classes)
      fail(ErrorKind::data, source, ": a sample has the label ", label, ", there are ", meaning.classes, " classes");
    ++out[size_t(label)];
  }
  return out;
}

std::vector<int64_t> sizes_of_target(const std::vector<int64_t>& sizes, const std::vector<NamedTarget>& targets,
                                     size_t k) {
  const auto first = sizes.begin() + first_entry_of(targets, k);
  return {first, first + entries_of(targets[k])};
}

}  // namespace neon
