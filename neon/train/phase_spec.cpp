#include "neon/train/phase_spec.h"

#include <algorithm>
#include <map>

namespace neon {

void Value_of<PhaseParams>::read(const Setting& from, PhaseParams& out, const Constraint&, Problems& problems) {
  if (!from.is_map()) {
    problems.add(from, text("expected a phase, as in {name: first, epochs: 5}, found ", from.describe()));
    return;
  }
  out = read_params<PhaseParams>(from, problems);
}

Setting Value_of<PhaseParams>::write(const PhaseParams& value) {
  Setting out = write_params(value);
  std::erase_if(out.entries, [](const auto& entry) { return entry.value.is_null(); });
  return out;
}

DataLayout TrainedPhase::layout(DataLayout data) const {
  if (reconstruct) data.target_is_input = true, data.drop_classes();
  return data;
}

StepOptions TrainedPhase::options(StepOptions run) const {
  run.freeze = {freeze, name.empty() ? "freeze" : "phases"};
  run.blank = source.cost ? source.cost->blank() : -1;
  if (!of_spec) run.histograms.clear(), run.outputs.clear(), run.ranges = false;
  if (reconstruct) run.class_weights = false;
  return run;
}

std::string TrainedPhase::idle_player(int64_t steps) const {
  if (!source.rule || source.rule->players() < 2 || source.rule->moves_before(1, steps) > 0) return "";
  int64_t first = steps + 1;
  while (source.rule->moves_before(1, first) == 0) ++first;
  return text("warning: the generator keeps its first weights: it is updated after ", first,
              " steps for the first time, and the ", name.empty() ? "run" : "phase " + name, " has ", steps,
              "; give more epochs, or change k or wgan_train_sched of the rule");
}

StepGraph training_graph(const TrainedPhase& phase, const DataLayout& data, const StepOptions& run) {
  return training_graph(*phase.network, phase.source, *phase.optimizer, phase.layout(data), phase.options(run));
}

StepGraph evaluation_graph(const TrainedPhase& phase, const std::vector<const Metric*>& metrics, const DataLayout& data,
                           int64_t set_size, const StepOptions& run) {
  const DataLayout layout = phase.layout(data);
  const StepOptions options = phase.options(run);
  if (phase.source.rule) return evaluation_graph(*phase.network, *phase.source.rule, layout, set_size, options);
  const std::vector<const Metric*> none;
  return evaluation_graph(*phase.network, phase.source.cost, phase.of_spec ? metrics : none, layout, set_size, options);
}

namespace {

// The layers of a phase of its own; those without a name get one that no other phase has.
std::shared_ptr<const Network> network_of(const PhaseParams& params, Problems& problems) {
  return std::make_shared<Network>(params.layers, problems, params.name + "_");
}

TrainedPhase phase_of(const PhaseParams& params, const SpecParts& spec, const Setting& where, Problems& problems) {
  TrainedPhase out;
  out.name = params.name;
  out.epochs = params.epochs;
  out.freeze = params.freeze;
  out.reconstruct = params.reconstruct;
  out.network = params.layers.is_null() ? spec.network : network_of(params, problems);
  out.source = spec.source;
  if (params.cost) out.source = {&*params.cost, nullptr};
  if (params.rule) out.source = {nullptr, &*params.rule};
  if (params.cost && params.rule) problems.add(where, "cost and rule are both given; a phase trains by one of them");
  out.optimizer = params.optimizer ? &*params.optimizer : spec.optimizer;
  out.of_spec = params.layers.is_null() && !params.cost && !params.rule && !params.reconstruct;
  return out;
}

}  // namespace

std::vector<TrainedPhase> phases_of(const std::vector<PhaseParams>& params, const SpecParts& spec, const Setting& root,
                                    Problems& problems) {
  std::vector<TrainedPhase> out;
  const Setting* const list = root.find("phases");
  for (size_t i = 0; i < params.size(); ++i) {
    const Setting& where = list && list->is_list() && i < list->items.size() ? list->items[i] : root;
    const bool given = !where.is_map() || where.find("name");  // a missing name is a problem already
    if (given && (params[i].name.empty() || printable(params[i].name) != params[i].name ||
                  params[i].name.find('/') != std::string::npos))
      problems.add(where, text("the phase's name is ", in_quotes(params[i].name), "; expected letters without '/'"));
    if (std::ranges::count(out, params[i].name, &TrainedPhase::name))
      problems.add(where, text("two phases are named ", in_quotes(params[i].name)));
    out.push_back(phase_of(params[i], spec, where, problems));
  }
  if (!out.empty() && !out.back().of_spec)
    problems.add(*list, text("the last phase, ", out.back().name,
                             ", must train the spec's own layers by the spec's own cost or rule: evaluations and "
                             "predictions use that net; move layers, cost, rule and reconstruct out of it"));
  return out;
}

void check_shared(const std::vector<TrainedPhase>& phases, const std::vector<StepGraph>& graphs) {
  std::map<std::string, std::pair<const Parameter*, const std::string*>> seen;
  for (size_t k = 0; k < graphs.size(); ++k)
    for (const Parameter& p : graphs[k].parameters) {
      const auto [before, added] = seen.try_emplace(p.name, &p, &phases[k].name);
      if (added || before->second.first->shape == p.shape) continue;
      fail_about("phases", p.name, " has the shape ", before->second.first->shape, " in the phase ",
                 *before->second.second, " and ", p.shape, " in ", phases[k].name,
                 "; layers of one name are the same layer, give them different names");
    }
}

}  // namespace neon
