// The phases that a spec asks for, and what each trains.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "models/step_graph.h"

namespace neon {

// An item of a spec's `phases`.
struct PhaseParams {
  std::string name;
  Setting layers;
  Made<Cost> cost;
  Made<Rule> rule;
  Made<Optimizer> optimizer;
  std::vector<std::string> freeze;
  bool reconstruct = false;
  int64_t epochs = 10;
  static void describe(auto&& p) {
    p("name", &PhaseParams::name, "Name for progress, messages and checkpoints.", Required{});
    p("epochs", &PhaseParams::epochs, "Passes over the training set.", closed(1, 1e9), Required{});
    p("layers", &PhaseParams::layers,
      "Layers of the phase, in order; default: the spec's. A layer with the `name` of another phase's is the same "
      "layer, "
      "with the same weights. Layers without `name` belong to this phase alone.");
    p("cost", &PhaseParams::cost, "Cost that the phase minimises. Default: the spec's.");
    p("rule", &PhaseParams::rule,
      "Rule that trains in place of a cost, as in rule: {ContrastiveDivergence: {k: 1}}. Default: the spec's.");
    p("optimizer", &PhaseParams::optimizer,
      "Rule that updates the weights. Its states begin at 0 in each phase. Default: the spec's.");
    p("freeze", &PhaseParams::freeze,
      "Layers and arrays that stay as they are, by name or pattern, as the spec's `freeze` has them.");
    p("reconstruct", &PhaseParams::reconstruct,
      "Compares the outputs with the samples themselves, as autoencoders do, whatever targets the data set has.");
  }
};
template <>
struct Value_of<PhaseParams> {
  static std::string type() { return "phase"; }
  static void read(const Setting& from, PhaseParams& out, const Constraint&, Problems& problems);
  static Setting write(const PhaseParams& value);
};

// One phase with the spec's parts where it has none of its own. A spec without phases is one phase without a name.
struct TrainedPhase {
  std::string name;
  std::shared_ptr<const Network> network;
  GradientSource source;
  const Optimizer* optimizer = nullptr;
  int64_t epochs = 1;
  std::vector<std::string> freeze;
  bool reconstruct = false;
  // Whether it trains the spec's own layers by the spec's own cost: callbacks and metrics are for this phase.
  bool of_spec = true;

  // The data as its graphs see them.
  DataLayout layout(DataLayout data) const;
  StepOptions options(StepOptions run) const;
  // A warning of a player that a rule moves in none of so many steps, or "".
  std::string idle_player(int64_t steps) const;
};

// The training step of a phase, of `run.batch` samples.
StepGraph training_graph(const TrainedPhase& phase, const DataLayout& data, const StepOptions& run);
// An evaluation of the phase's net; `metrics` are for the spec's own.
StepGraph evaluation_graph(const TrainedPhase& phase, const std::vector<const Metric*>& metrics, const DataLayout& data,
                           int64_t set_size, const StepOptions& run);

// The parts of a spec outside of its phases.
struct SpecParts {
  std::shared_ptr<const Network> network;
  GradientSource source;
  const Optimizer* optimizer = nullptr;
};
// The phases of a spec; what is wrong is added to `problems`. `params` must outlive them.
std::vector<TrainedPhase> phases_of(const std::vector<PhaseParams>& params, const SpecParts& spec, const Setting& root,
                                    Problems& problems);

// Throws a config error where a variable has one shape in one phase and another in a later one.
void check_shared(const std::vector<TrainedPhase>& phases, const std::vector<StepGraph>& graphs);

}  // namespace neon
