#include "neon/cli/heeded_augmentations.h"

#include "backends/graph/graph.h"
#include "neon/core/error.h"
#include "transforms/augmentation.h"

namespace neon {

namespace {

// The ops that an evaluation's images go through; "" where they cannot be augmented so.
std::string evaluated(const Setting& augment, const SampleMeaning& images) {
  std::vector<Made<Augmentation>> made;
  Problems wrong;
  Value_of<std::vector<Made<Augmentation>>>::read(augment, made, {}, wrong);
  if (!wrong.empty()) return "";
  const Shape sample = {images.sample[1], images.sample[2], images.sample[0]};
  Graph graph;
  const Value data = graph.input("data", images.dtype, Shape{1}.concat(sample));
  ImageBatch batch(graph, data, {}, {images.scale, images.shift}, DType::f32, false, 0);
  try {
    for (const auto& augmentation : made) augmentation->apply(batch);
    graph.output("values", batch.values().value());
  } catch (const Error&) {
    return "";
  }
  return graph.to_string();
}

// Its parameters, of an augmentation as {Class: {...}}; else null.
Setting* parameters_of(Setting& item) {
  return item.is_map() && item.entries.size() == 1 && item.entries[0].value.is_map() ? &item.entries[0].value : nullptr;
}

bool have_same_classes(Setting& now, Setting& then) {
  if (now.items.size() != then.items.size()) return false;
  for (size_t k = 0; k < now.items.size(); ++k)
    if (!parameters_of(now.items[k]) || !parameters_of(then.items[k]) ||
        now.items[k].entries[0].key != then.items[k].entries[0].key)
      return false;
  return true;
}

}  // namespace

std::optional<std::string> unheeded_augmentation(const Setting& now, const Setting& then, const SampleMeaning& images) {
  const std::string wanted = evaluated(now, images);
  if (wanted.empty() || now.to_string() == then.to_string()) return std::nullopt;
  Setting mixed = now, former = then;
  if (!have_same_classes(mixed, former)) {
    if (evaluated(then, images) == wanted) return "";
    return std::nullopt;
  }
  for (size_t k = 0; k < mixed.items.size(); ++k)
    for (auto& [key, value, where] : parameters_of(mixed.items[k])->entries) {
      const Setting* const before = parameters_of(former.items[k])->find(key);
      if (!before || before->to_string() == value.to_string()) continue;
      const Setting given = value;
      value = *before;
      if (evaluated(mixed, images) == wanted) return text("[", k, "].", key);
      value = given;
    }
  return std::nullopt;
}

}  // namespace neon
