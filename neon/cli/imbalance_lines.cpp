#include "neon/cli/imbalance_lines.h"

#include <algorithm>

#include "datasets/class_sizes.h"
#include "neon/core/message.h"

namespace neon {

namespace {

constexpr const char* kHelps = " lets small classes count as much";

std::string line_of_target(const ExperimentParams& params, const SampleMeaning& meaning,
                           const std::vector<int64_t>& sizes, size_t k) {
  const NamedTarget& target = meaning.targets[k];
  const auto output = std::ranges::find(params.outputs, target.name, [](const auto& named) { return named.first; });
  if (target.kind != TargetKind::classes || output == params.outputs.end() || output->second.class_weights.is_given())
    return "";
  const std::string found = imbalance_text(sizes_of_target(sizes, meaning.targets, k), target.names);
  if (found.empty()) return "";
  const bool alone = std::ranges::count(meaning.targets, TargetKind::classes, &NamedTarget::kind) == 1;
  return text("note    ", in_quotes(target.name), ": ", found, "; `class_weights: balanced` of the output",
              alone ? " or `sampling: balanced`" : "", kHelps);
}

}  // namespace

std::vector<std::string> imbalance_lines(const ExperimentParams& params, const SampleMeaning& meaning,
                                         const std::vector<int64_t>& sizes) {
  std::vector<std::string> out;
  if (sizes.empty() || params.draws_by_class()) return out;
  for (size_t k = 0; k < meaning.targets.size(); ++k)
    if (std::string line = line_of_target(params, meaning, sizes, k); !line.empty()) out.push_back(std::move(line));
  const LabelOf of = meaning.label_of;
  if (meaning.foretells_tokens()) return out;  // of a text, some are always rare
  if (!meaning.targets.empty() || params.class_weights.is_given() || of == LabelOf::sequence || of == LabelOf::box)
    return out;
  const std::string found =
      imbalance_text(sizes, meaning.class_names, of == LabelOf::sample ? "samples" : text(name_of(of), "s"));
  if (!found.empty())
    out.push_back(text("note    ", found, "; `class_weights: balanced`",
                       of == LabelOf::sample ? " or `sampling: balanced`" : "", kHelps));
  return out;
}

}  // namespace neon
