#include "neon/cli/size_counter.h"

#include "models/histograms.h"
#include "neon/core/error.h"

namespace neon {

using Json = nlohmann::ordered_json;

SizeCounts size_counts_of(const Json& from) {
  SizeCounts out{from.at("elements"), from.at("gradient"), from.at("bins")};
  if (int64_t(out.bins.size()) != kSizes) fail(ErrorKind::data, "expected ", kSizes, " bins, found ", out.bins.size());
  return out;
}

// A spec's own Hist may want fewer; both read the same outputs.
void SizeCounter::prepare(StepOptions& options) const { options.histograms = {kAllArrays}; }

void SizeCounter::plan(RunPlan& plan) {
  for (const StepGraph::Histogram& array : plan.graph.histograms) {
    names_.push_back(array.name);
    elements_[array.name] = double(array.elements);
    counts_[array.name] = {0, array.of == StepGraph::Histogram::Of::gradients, std::vector<double>(size_t(kSizes))};
  }
}

bool SizeCounter::watches(const Progress& at) const { return at.step + 1 == (at.epoch + 1) * at.steps_per_epoch; }

void SizeCounter::step_end(StepEnd& end) {
  for (const std::string& name : names_) {
    const Tensor output = end.program.output("hist/" + name);
    SizeCounts& counts = counts_[name];
    counts.elements += elements_[name];
    for (int64_t i = 0; i < kSizes; ++i) counts.bins[size_t(i)] += output.at(i);
  }
}

Json SizeCounter::json() const {
  Json out = Json::object();
  for (const std::string& name : names_) {
    const SizeCounts& counts = counts_.at(name);
    out[name] = {{"elements", counts.elements}, {"gradient", counts.gradient}, {"bins", counts.bins}};
  }
  return out;
}

}  // namespace neon
