#include "neon/cli/shown_samples.h"

#include <algorithm>

#include "neon/cli/sample_sheet.h"
#include "neon/core/paths.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int64_t kMostValues = 8;  // of a sample that are written

// The index of a sample's largest number.
int64_t largest_at(const std::vector<double>& from, int64_t width, int64_t sample) {
  const auto begin = from.begin() + sample * width;
  return std::max_element(begin, begin + width) - begin;
}

// The file of a sample as neon predict names it, from the current folder on; "" where samples are no files.
std::string path_of(const Split& split, int64_t sample) {
  if (!split.paths) return "";
  std::string path = split.paths->path(split.number(sample));
  for (const std::string& here : {join_path(current_dir(), ""), std::string("./")})
    if (path.starts_with(here)) return path.substr(here.size());
  return path;
}

// Numbers of a sample's target or output in the units of the data, whose means KeptOutputs leaves out.
std::vector<double> values_of(const std::vector<double>& from, int64_t row, int64_t width, const Standard& standard) {
  std::vector<double> out(from.begin() + row, from.begin() + row + width);
  const size_t known = standard.means.size();
  for (size_t k = 0; k < out.size() && known > 0 && out.size() % known == 0; ++k) out[k] += standard.means[k % known];
  return out;
}

std::vector<std::string> labels_of(const std::vector<double>& from, int64_t row, int64_t width,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (int64_t k = 0; k < width; ++k)
    if (from[size_t(row + k)] >= 0.5) out.push_back(name_at(names, k));
  return out;
}

// Adds to `one` a sample's target beside the output for it.
void add_target(nlohmann::json& one, const Outcome& outcome, TargetKind kind, const std::vector<std::string>& names,
                const Standard& standard, int64_t sample) {
  const int64_t row = sample * outcome.width;
  if (kind == TargetKind::classes) {
    const int64_t predicted = largest_at(outcome.y, outcome.width, sample);
    one["class"] = name_at(names, largest_at(outcome.t, outcome.width, sample));
    one["predicted"] = name_at(names, predicted);
    one["output"] = outcome.y[size_t(row + predicted)];
  } else if (kind == TargetKind::labels) {
    one["labels"] = labels_of(outcome.t, row, outcome.width, names);
    one["predicted"] = labels_of(outcome.y, row, outcome.width, names);
  } else if (outcome.width <= kMostValues) {
    one["target"] = values_of(outcome.t, row, outcome.width, standard);
    one["output"] = values_of(outcome.y, row, outcome.width, standard);
  }
}

}  // namespace

ShownSamples::ShownSamples(const KeptOutcome& outcome, const Data& data, const OutputSpecs& outputs,
                           const KeptOutcome::Sums& kept)
    : data_(data), split_(outcome.split()), outcome_(outcome.outputs_of(kept)), costs_(outcome.costs_of(kept)) {
  if (!data.targets.empty() && outcome_.size() > 0) targets_ = outcomes_by_target(data, outputs, outcome_);
  complete_ = int64_t(by_cost() ? costs_.size() : size_t(outcome_.size())) == split_.size();
}

std::vector<int64_t> ShownSamples::worst(int64_t most) const {
  if (!by_cost()) return worst_samples(outcome_, data_.classes > 0, data_.target_standard, most);
  return worst_first(costs_, most);
}

std::vector<int64_t> ShownSamples::spread(int64_t most) const {
  std::vector<int64_t> out;
  const int64_t size = split_.size(), count = std::min(size, most);
  for (int64_t i = 0; i < count; ++i) out.push_back(i * size / count);
  return out;
}

nlohmann::json ShownSamples::json(const std::vector<int64_t>& samples) const {
  nlohmann::json out = nlohmann::json::array();
  for (const int64_t sample : samples) {
    nlohmann::json& one = out.emplace_back(nlohmann::json{{"sample", split_.number(sample)}});
    if (const std::string path = path_of(split_, sample); !path.empty()) one["file"] = path;
    if (by_cost()) one["cost"] = costs_[size_t(sample)];
    for (const TargetOutcome& target : targets_) {
      const NamedTarget& named = *std::ranges::find(data_.targets, target.name, &NamedTarget::name);
      add_target(one["targets"][target.name], target.outcome, target.kind, target.names, named.standard, sample);
    }
    if (!by_cost())
      add_target(one, outcome_, data_.classes > 0 ? TargetKind::classes : TargetKind::number, data_.class_names,
                 data_.target_standard, sample);
  }
  return out;
}

std::string ShownSamples::line(int64_t sample) const {
  const std::string path = path_of(split_, sample);
  const std::string name = path.empty() ? text("sample ", split_.number(sample)) : path;
  if (by_cost()) return text(name, ": cost ", formatted("%.4g", costs_[size_t(sample)]));
  if (data_.classes == 0) {
    if (outcome_.width > kMostValues) return name;
    const int64_t row = sample * outcome_.width;
    const auto shown = [&](const std::vector<double>& from) {
      std::vector<std::string> out;
      for (const double value : values_of(from, row, outcome_.width, data_.target_standard))
        out.push_back(formatted("%.4g", value));
      return join(out, ", ");
    };
    return text(name, ": target ", shown(outcome_.t), "; output ", shown(outcome_.y));
  }
  const int64_t truth = largest_at(outcome_.t, outcome_.width, sample);
  const std::string right = name_at(data_.class_names, truth);
  return text(name, ": ", right, ", predicted ",
              name_at(data_.class_names, largest_at(outcome_.y, outcome_.width, sample)), ", output of ", right,
              formatted(" %.4f", outcome_.y[size_t(sample * outcome_.width + truth)]));
}

}  // namespace neon
