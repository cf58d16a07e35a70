#include "neon/train/lost_steps.h"

#include <algorithm>

#include "datasets/length_buckets.h"
#include "models/measures.h"
#include "models/output_lengths.h"

namespace neon {

std::string lost_steps_text(const TrainedPhase& phase, const DataLayout& layout, const StepOptions& step,
                            const EvaluatedSet& set, bool training) {
  if (phase.source.rule || set.split.inputs.empty()) return "";
  const DataLayout own = layout_for(phase.source.cost, phase.layout(layout));
  const auto outputs = steps_with_outputs(*phase.network, own, phase.options(step), training);
  if (std::ranges::all_of(outputs, &std::vector<int64_t>::empty)) return "";
  const auto given = [](const std::vector<int64_t>& output, int64_t steps) {
    return output.empty() ? steps : std::min(output[size_t(steps) - 1], steps);
  };
  int64_t count = 0, longest = 0;
  for (const int32_t steps : sequence_lengths(set.split.inputs)) {
    if (steps == 0 || std::ranges::all_of(outputs, [&](const auto& output) { return given(output, steps) == steps; }))
      continue;
    ++count, longest = std::max<int64_t>(longest, steps);
  }
  if (count == 0) return "";
  const auto of_longest = [&](const auto& output) { return given(output, longest); };
  const auto [least, most] = std::ranges::minmax_element(outputs, {}, of_longest);
  const bool same = of_longest(*least) == of_longest(*most);
  const std::string who = same ? text("the net has no outputs")
                               : text("output ", least - outputs.begin() + 1, " of ", outputs.size(), " has no values");
  return text("warning: ", who, " for the last steps of ", count, " of ", set.split.size(), " ", set.name,
              " sequences (", of_longest(*least), " of ", longest, " steps); ",
              same ? "these targets do not count" : "no output is compared with these targets",
              "; pad the layers that leave steps out");
}

}  // namespace neon
