#include "neon/train/best_result.h"

#include <cmath>

#include "neon/train/evaluator.h"

namespace neon {

namespace {

bool is_better(double value, const Experiment& experiment, double than) {
  if (name_of_best(experiment) == "cost" || experiment.results().front().better == Metric::Better::lower)
    return value < than;
  return value > than;
}

}  // namespace

std::string name_of_best(const Experiment& experiment) {
  const auto results = experiment.params.metrics.empty() ? std::vector<Metric::Result>() : experiment.results();
  return results.empty() ? "cost" : results.front().name;
}

bool note_if_best(const RunSetup& setup, const std::map<std::string, double>& results, Position& position) {
  const Experiment& experiment = setup.experiment;
  const auto& rule = experiment.last_phase().source.rule;
  if ((rule && rule->players() > 1) || position.epoch <= setup.phases.back().first) return false;
  const auto found = results.find(name_of_best(experiment));
  if (found == results.end() || !std::isfinite(found->second) || !std::isfinite(results.at("cost"))) return false;
  const double cost = results.at("cost");
  const bool is_tie = position.best && found->second == *position.best;
  const bool wins_tie = is_tie && position.best_cost && cost < *position.best_cost;
  if (position.best && !wins_tie && !is_better(found->second, experiment, *position.best)) return false;
  position.best = found->second;
  position.best_cost = cost;
  position.best_of = name_of_best(experiment);
  position.best_epoch = position.epoch;
  return true;
}

std::string best_text(const Position& position, const Experiment& experiment, const std::string& set) {
  return results_text({{name_of_best(experiment), *position.best}}, experiment, set);
}

}  // namespace neon
