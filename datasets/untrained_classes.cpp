#include "datasets/untrained_classes.h"

#include "datasets/meant_cells.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// The classes or labels of target k of several that no training sample has.
std::vector<int64_t> untrained_of_target(const Data& data, size_t k) {
  const NamedTarget& target = data.targets[k];
  const int64_t columns = columns_of(data.targets), first = first_column_of(data.targets, k);
  std::vector<bool> trained(static_cast<size_t>(target.width));
  for (int64_t row = 0; row < data.train.targets.shape()[0]; ++row)
    for (int64_t i = 0; i < target.columns(); ++i) {
      const double value = data.train.targets.at(row * columns + first + i);
      if (target.kind == TargetKind::classes) trained[size_t(value)] = true;
      else if (value == 1) trained[size_t(i)] = true;
    }
  std::vector<int64_t> out;
  for (size_t i = 0; i < trained.size(); ++i)
    if (!trained[i]) out.push_back(int64_t(i));
  return out;
}

// The same for several targets.
void warn_of_untrained_targets(const Data& data, const DataContext& context) {
  for (size_t k = 0; k < data.targets.size(); ++k) {
    const NamedTarget& target = data.targets[k];
    if (target.kind == TargetKind::number) continue;
    if (const auto untrained = untrained_of_target(data, k); !untrained.empty())
      context.warn(text(data.source, ": the target ", in_quotes(target.name), ": no training sample is of ",
                        target.kind == TargetKind::classes ? "class " : "label ", class_list(untrained, target.names),
                        "; the net cannot learn what it never sees"));
  }
}

// The net has outputs for classes without training samples, but cannot learn them.
void warn_of_untrained_classes(const Data& data, const DataContext& context) {
  const Split& train = data.train;
  if (data.classes == 0 || (!train.reader && train.targets.dtype() != DType::i32 && data.label_of != LabelOf::box))
    return;
  if (data.classes == data.tokens && data.label_of == LabelOf::step) return;  // bytes, say, that no text has
  std::vector<bool> trained(static_cast<size_t>(data.classes));
  for (int64_t i = 0; i < train.label_count(); ++i)
    if (train.label(i) >= 0) trained[size_t(train.label(i))] = true;
  std::vector<int64_t> untrained;
  for (size_t k = 0; k < trained.size(); ++k)
    if (!trained[k]) untrained.push_back(int64_t(k));
  if (data.label_of == LabelOf::sequence && untrained.size() == 1) return;  // the blank, which stands for no label
  if (!untrained.empty())
    context.warn(text(data.source, ": no training sample is of class ", class_list(untrained, data.class_names),
                      "; the net cannot learn what it never sees"));
}

}  // namespace

void warn_of_untrained(const Data& data, const DataContext& context) {
  if (context.some_classes) return;  // a net that is evaluated may meet samples of some of its classes alone
  warn_of_untrained_classes(data, context);
  warn_of_untrained_targets(data, context);
}

void note_alike_classes(const SampleMeaning& data, const std::string& source, const DataContext& context) {
  if (data.tokens > 0 || !context.asks_about_texts()) return;
  const auto note = [&](const std::vector<std::string>& names) {
    if (const std::string found = alike_names(names, "classes"); !found.empty())
      context.note(text(source, ": ", found));
  };
  note(data.class_names);
  for (const NamedTarget& target : data.targets) note(target.names);
}

}  // namespace neon
