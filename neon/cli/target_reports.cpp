#include "neon/cli/target_reports.h"

#include <algorithm>

#include "neon/cli/outcome_text.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// Columns [first, first + width) of the outputs and targets.
Outcome columns_of(const Outcome& all, int64_t first, int64_t width) {
  Outcome out;
  out.width = width;
  out.numbers = all.numbers;
  for (int64_t row = 0; row < all.size(); ++row) {
    const auto begin = row * all.width + first;
    out.y.insert(out.y.end(), all.y.begin() + begin, all.y.begin() + begin + width);
    out.t.insert(out.t.end(), all.t.begin() + begin, all.t.begin() + begin + width);
  }
  return out;
}

// The outcome with a row for each step, where a sample has several numbers for each name.
Outcome by_steps(Outcome all, size_t names) {
  const int64_t width = int64_t(names);
  if (width == 0 || all.width <= width || all.width % width) return all;
  all.rows_of_sample = all.width / width;
  all.width = width;
  return all;
}

ClassReport classes_or_labels(const TargetOutcome& target) {
  if (!target.confusion.empty()) return class_report(target.confusion);
  return target.kind == TargetKind::labels ? label_report(target.outcome) : class_report(target.outcome);
}

void print_report(const TargetOutcome& target) {
  if (target.kind == TargetKind::number) print_value_report(target.outcome, target.names);
  else print_class_report(classes_or_labels(target), target.names, target.label_of);
}

nlohmann::json report_json(const TargetOutcome& target) {
  if (target.kind == TargetKind::number) return value_report_json(target.outcome, target.names);
  return class_report_json(classes_or_labels(target), target.names, target.label_of);
}

}  // namespace

std::vector<TargetOutcome> outcomes_by_target(const SampleMeaning& meaning, const OutputSpecs& outputs,
                                              const Outcome& all) {
  if (meaning.targets.empty()) {
    const bool classes = meaning.classes > 0;
    if (classes) return {{"", TargetKind::classes, meaning.class_names, all}};
    return {{"", TargetKind::number, meaning.target_names, by_steps(all, meaning.target_names.size())}};
  }
  std::vector<TargetOutcome> out;
  int64_t first = 0;
  for (const auto& [name, output] : outputs) {
    const NamedTarget& target = *std::ranges::find(meaning.targets, name, &NamedTarget::name);
    std::vector<std::string> names = target.names;
    if (target.kind == TargetKind::number && target.width == 1) names = {name};
    out.push_back({name, target.kind, std::move(names), columns_of(all, first, target.width)});
    first += target.width;
  }
  return out;
}

void print_reports(const std::vector<TargetOutcome>& targets) {
  for (const TargetOutcome& target : targets) {
    if (target.outcome.size() == 0 && target.confusion.empty()) continue;
    if (!target.name.empty()) print_result(text(target.name, ":"));
    print_report(target);
  }
}

void print_report_table(const std::vector<TargetOutcome>& targets) {
  if (targets.size() != 1)
    fail(ErrorKind::config, "option --report: the tables of ", targets.size(),
         " targets have different columns, so they are not one CSV; give --format json");
  if (targets[0].kind == TargetKind::number) print_value_table(targets[0].outcome, targets[0].names);
  else print_class_table(classes_or_labels(targets[0]), targets[0].names, targets[0].label_of);
}

nlohmann::json reports_json(const std::vector<TargetOutcome>& targets) {
  if (targets.size() == 1 && targets[0].name.empty()) return report_json(targets[0]);
  nlohmann::json out = nlohmann::json::object();
  for (const TargetOutcome& target : targets) out[target.name] = report_json(target);
  return out;
}

}  // namespace neon
