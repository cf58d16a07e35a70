#include "neon/train/lost_steps.h"

#include <algorithm>

#include "datasets/length_buckets.h"
#include "models/measures.h"
#include "models/output_lengths.h"
#include "neon/core/counted.h"

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

namespace {

struct Labels {
  int64_t count = 0;
  int64_t steps = 0;  // that they take: one each, and one between two equal labels
};

Labels labels_of(const Split& split, int64_t sample) {
  const int64_t most = split.label_count() / split.size();
  Labels out;
  for (int32_t before = -1; out.count < most; ++out.count) {
    const int32_t label = split.label(sample * most + out.count);
    if (label < 0) break;
    out.steps += label == before ? 2 : 1;
    before = label;
  }
  return out;
}

}  // namespace

std::string misfits_text(const TrainedPhase& phase, const DataLayout& layout, const StepOptions& step,
                         const EvaluatedSet& set, bool training) {
  const Cost* const cost = phase.source.cost;
  if (!cost || !cost->of_sequences() || layout.label_of != LabelOf::sequence || set.split.inputs.empty()) return "";
  Container* const last = phase.network->last().layer->container();
  if (last && last->seq2seq()) return "";  // a decoder has a step for each label
  const DataLayout own = phase.layout(layout);
  const std::vector<int64_t> given = steps_of_output(*phase.network, own, phase.options(step), training);
  const std::vector<int32_t> lengths = layout.ragged
                                           ? sequence_lengths(set.split.inputs)
                                           : std::vector<int32_t>(size_t(set.split.size()), int32_t(given.size()));
  int64_t count = 0, first = -1;
  for (int64_t i = 0; i < set.split.size(); ++i) {
    const int64_t steps = lengths[size_t(i)] > 0 ? given[size_t(lengths[size_t(i)]) - 1] : 0;
    if (labels_of(set.split, i).steps <= steps) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return "";
  const Labels labels = labels_of(set.split, first);
  const int64_t steps = lengths[size_t(first)] > 0 ? given[size_t(lengths[size_t(first)]) - 1] : 0;
  return text("warning: the labels of ", count, " of ", set.split.size(), " ", set.name,
              " sequences do not fit into the steps that the net leaves: the ", counted(labels.count, "label"),
              " of sample ", first, labels.count == 1 ? " takes " : " take ", counted(labels.steps, "step"), " of ",
              steps,
              cost->leaves_out_misfits() ? "; infeasible: zero counts their cost as 0"
                                         : "; their cost is infinite, which ends a run. cost: {CTC: {infeasible: "
                                           "zero}} leaves them out");
}

}  // namespace neon
