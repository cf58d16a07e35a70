#include "neon/train/result_names.h"

#include <algorithm>

#include "neon/train/experiment.h"

namespace neon {

namespace {

std::vector<std::string> result_names(const Metric& metric) {
  std::vector<std::string> out;
  for (const Metric::Result& result : metric.results()) out.push_back(result.name);
  return out;
}

}  // namespace

std::vector<std::string> reported_names(const Experiment& experiment) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (!std::ranges::count(out, name)) out.push_back(name);
  };
  for (const Metric::Result& result : experiment.results()) add(result.name);
  for (const TrainedPhase& phase : experiment.phases())
    for (const Metric::Result& result :
         phase.source.rule ? phase.source.rule->results() : std::vector<Metric::Result>()) {
      add(result.name);
      if (experiment.params.train_metrics > 0) add(kOfTraining + result.name);
    }
  return out;
}

void check_result_names(const std::vector<Made<Metric>>& metrics, const Setting* where, Problems& problems) {
  for (size_t i = 0; i < metrics.size(); ++i)
    for (size_t k = 0; k < i; ++k) {
      const Setting &later = metrics[i].resolved(), &earlier = metrics[k].resolved();
      if (!metrics[i] || !metrics[k]) continue;
      if (later.to_string() == earlier.to_string())
        problems.add(where->items[i], text("is listed twice; item ", k, " is the same"));
      else if (const auto names = result_names(*metrics[i]); names == result_names(*metrics[k]))
        problems.add(where->items[i], text("gives ", names.empty() ? "the same results" : join(names, " and "),
                                           ", as item ", k, " does; leave one out"));
    }
}

}  // namespace neon
