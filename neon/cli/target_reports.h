// Reports by target: hits and misses of classes and labels, differences of numbers.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "datasets/sample_meaning.h"
#include "neon/train/net_outputs.h"
#include "neon/train/outcome.h"

namespace neon {

// The outputs for one target beside their targets.
struct TargetOutcome {
  std::string name;  // "" of the only one
  TargetKind kind = TargetKind::number;
  std::vector<std::string> names;  // of the classes, labels or numbers
  Outcome outcome;
  // Counts of pixels or steps [true class][predicted class], in place of an outcome of samples.
  std::vector<std::vector<int64_t>> confusion = {};
  LabelOf label_of = LabelOf::sample;
};

// One for each output of the net, in their order. A net without `outputs` has one.
std::vector<TargetOutcome> outcomes_by_target(const SampleMeaning& meaning, const OutputSpecs& outputs,
                                              const Outcome& all);

void print_reports(const std::vector<TargetOutcome>& targets);
// CSV, a line for each class or output. Throws a config error for several targets, whose tables differ.
void print_report_table(const std::vector<TargetOutcome>& targets);
// The report of the only target, or reports by the names of several.
nlohmann::json reports_json(const std::vector<TargetOutcome>& targets);

}  // namespace neon
