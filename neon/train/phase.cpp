#include "neon/train/phase.h"

#include <algorithm>
#include <functional>
#include <set>

#include "datasets/length_buckets.h"
#include "neon/train/initial_values.h"
#include "neon/train/lost_steps.h"
#include "neon/train/rank_step.h"
#include "neon/train/shared_rows.h"

namespace neon {

Phase training_phase(const RunSetup& setup, const PhaseSpan& span) {
  Phase phase;
  phase.split = &setup.data.train;
  phase.order = setup.data.streams ? SampleOrder::streams : setup.experiment.params.order();
  phase.first_epoch = span.first;
  phase.epochs = span.epochs;
  phase.rule = span.phase->source.rule;
  const auto graph = [&setup, trained = span.phase](int64_t batch, const DataLayout& layout, int player, bool updates) {
    return step_of_rank(*trained, layout, setup.step, {batch, setup.rank(), player, updates});
  };
  phase.graph = [graph](int64_t batch, const DataLayout& layout, int player) {
    return graph(batch, layout, player, true);
  };
  if (sums_apart(setup.step, setup.rank().ranks))
    phase.adding = [graph](int64_t batch, const DataLayout& layout) { return graph(batch, layout, 0, false); };
  return phase;
}

FeedOptions feed_options(const RunSetup& setup, const Phase& phase, uint64_t seed) {
  FeedOptions out;
  out.batch = setup.step.batch;
  out.seed = seed;
  out.order = phase.order;
  if (!setup.data.targets.empty()) out.labels = labels_to_draw_by(phase.order, *phase.split, setup.data.targets);
  out.buckets = setup.buckets;
  out.samples = !setup.step.augment.empty();
  out.of = setup.rank();
  return out;
}

namespace {

// What `make` makes for batches of so many steps. A config error says that buckets brought these about.
StepGraph of_buckets(int64_t steps, const std::function<StepGraph()>& make) try {
  return make();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::config) throw;
  fail(error.kind(), error.what(), " (`buckets` has batches of ", steps, " steps; give it greater lengths)");
}

// The step of a whole batch of the longest sequences; with buckets the net must take the shortest, too.
StepGraph graph_of_all_lengths(const RunSetup& setup, const Phase& phase) {
  StepGraph out = phase.graph(setup.step.batch, setup.layout, 0);
  if (!setup.buckets) return out;
  const LengthBuckets& buckets = *setup.buckets;
  const int64_t steps = buckets.steps.front();
  const DataLayout layout = setup.layout.with_steps(steps, buckets.labels.empty() ? 0 : buckets.labels.front());
  const StepGraph shortest = of_buckets(steps, [&] { return phase.graph(setup.step.batch, layout, 0); });
  check_same_weights(out, shortest, setup.layout.sample[0], steps);
  return out;
}

}  // namespace

std::vector<StepGraph> graphs_of_phases(RunSetup& setup, Variables& variables) {
  std::vector<StepGraph> out;
  for (const PhaseSpan& span : setup.phases) out.push_back(graph_of_all_lengths(setup, training_phase(setup, span)));
  check_shared(setup.experiment.phases(), out);
  setup.split.clear();
  for (const StepGraph& graph : out)
    for (const SplitArray& split : split_arrays(graph.parameters)) setup.split.push_back(split);
  for (const StepGraph& graph : out) declare_variables(graph.graph, variables);
  for (const PhaseSpan& span : setup.phases) {
    const Phase phase = training_phase(setup, span);
    for (int player = 1; player < phase.players(); ++player)
      declare_variables(phase.graph(setup.step.batch, setup.layout, player).graph, variables);
  }
  Variables of_last;
  declare_variables(out.back().graph, of_last);
  for (const auto& [name, tensor] : variables.all())
    if (out.size() > 1 && !of_last.has(name)) setup.of_earlier_phases.push_back(name);
  return out;
}

std::string padding_text(const RunSetup& setup, const Phase& phase, uint64_t seed) {
  const std::vector<int32_t> order =
      epoch_order(phase.order, setup.layout.train_size, setup.step.batch, seed, 0,
                  labels_to_draw_by(phase.order, *phase.split, setup.data.targets), setup.buckets);
  return buckets_text(*setup.buckets, order, setup.step.batch, setup.layout.sample[0]);
}

std::vector<std::string> sequence_warnings(const TrainedPhase& phase, const Data& data, const DataLayout& layout,
                                           const StepOptions& step) {
  std::vector<std::string> out = {lost_steps_text(phase, layout, step, {data.train, "training"}, true),
                                  misfits_text(phase, layout, step, {data.train, "training"}, true),
                                  misfits_text(phase, layout, step, {data.validation, "validation"}, false),
                                  misfits_text(phase, layout, step, {data.test, "test"}, false)};
  std::erase(out, "");
  return out;
}

std::vector<std::vector<StepGraph::Histogram>> histograms_of_others(const RunSetup& setup) {
  std::vector<std::vector<StepGraph::Histogram>> out;
  if (setup.step.histograms.empty() && !setup.step.gradient_norm) return out;
  const Phase phase = training_phase(setup, setup.phases.back());
  for (int player = 1; player < phase.players(); ++player)
    out.push_back(phase.graph(setup.step.batch, setup.layout, player).histograms);
  return out;
}

std::string phase_text(const PhaseSpan& span) {
  const int64_t last = span.first + span.epochs;
  return text("phase ", span.phase->name, ": ",
              span.epochs == 1 ? text("epoch ", last) : text("epochs ", span.first + 1, " to ", last));
}

namespace {

void begin_graph(const StepGraph& graph, Variables& variables) {
  std::set<std::string> kept;  // parameters and running statistics
  for (const Parameter& p : graph.parameters) kept.insert(p.name);
  for (const LayerState& s : graph.states)
    if (!belongs_to_step(s.name)) kept.insert(s.name);
  for (const Value value : graph.graph.leaves(LeafKind::variable)) {
    const std::string name = graph.graph.producer(value).attributes.string("name");
    if (kept.contains(name) || name.ends_with("/ema") || has_class_weights(name) || name.starts_with(kLearned))
      continue;
    Tensor& tensor = variables.at(name);
    for (int64_t i = 0; i < tensor.elements(); ++i) tensor.set(i, 0);
  }
}

}  // namespace

void begin_phase(const std::vector<const StepGraph*>& graphs, Variables& variables, Position& position) {
  for (const StepGraph* graph : graphs) begin_graph(*graph, variables);
  start_running_means(variables);
  position.updates = 0;
  position.spoilt = false;
}

}  // namespace neon
