#include "datasets/named_target.h"

#include <algorithm>

#include "neon/core/text.h"

namespace neon {

void put_compared(const std::vector<NamedTarget>& targets, size_t k, const Tensor& rows, int64_t sample, double* to) {
  const NamedTarget& target = targets[k];
  const int64_t first = sample * columns_of(targets) + first_column_of(targets, k);
  const auto from = rows.as<float>();
  for (int64_t i = 0; i < target.width; ++i)
    to[i] = target.kind == TargetKind::classes ? double(int64_t(from[size_t(first)]) == i)
                                               : double(from[size_t(first + i)]);
}

size_t first_of_classes(const std::vector<NamedTarget>& targets) {
  return size_t(std::ranges::find(targets, TargetKind::classes, &NamedTarget::kind) - targets.begin());
}

std::string text_of(const std::vector<NamedTarget>& targets) {
  std::vector<std::string> out;
  for (const NamedTarget& target : targets)
    out.push_back(text(target.name, " (",
                       target.kind == TargetKind::number && target.width == 1 ? text("number")
                       : target.kind == TargetKind::number                    ? text(target.width, " numbers")
                                                           : text(target.width, " ", name_of(target.kind)),
                       ")"));
  return join(out, ", ");
}

std::string targets_text(const std::vector<NamedTarget>& targets) {
  const size_t k = first_of_classes(targets);
  return text("targets ", text_of(targets),
              k == targets.size() ? "" : text("; shares are drawn by the classes of ", in_quotes(targets[k].name)));
}

}  // namespace neon
