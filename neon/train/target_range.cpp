#include "neon/train/target_range.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "neon/core/key_error.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr double kRounding = 1e-6;  // of 255 / 255

bool is_share(double value) { return value >= -kRounding && value <= 1 + kRounding; }

// Whether the cost compares outputs with numbers from 0 to 1 alone.
bool takes_shares(const Cost& cost) {
  return !cost.suits(TargetKind::number) && (cost.suits(TargetKind::classes) || cost.suits(TargetKind::labels));
}

void check_targets(const Experiment& experiment, const Data& data) {
  const Made<Cost>& cost = experiment.params.cost;
  const Tensor& targets = data.train.targets;
  if (!cost || data.classes > 0 || !data.targets.empty() || targets.empty() || targets.dtype() != DType::f32) return;
  if (!takes_shares(*cost)) return;
  const Setting& resolved = cost.resolved();
  const std::string& name = resolved.is_map() ? resolved.entries.at(0).key : resolved.value;
  for (const float value : targets.as<float>())
    if (value < 0 || value > 1)  // not NaN, which is padding
      fail_about("cost", name, " compares outputs with targets between 0 and 1, and a target is ", value,
                 "; MeanSquared suits values (standardize: false keeps those of a table as they are)");
}

// A metric of two kinds of samples refuses a column of targets, one of `width`, that has other numbers than two.
void check_two_kinds(const Metric& metric, const std::string& name, const Tensor& targets, int64_t column, size_t width,
                     const char* key) {
  if (!metric.of_two_kinds() || targets.empty() || targets.dtype() != DType::f32) return;
  const auto values = targets.as<float>();
  std::set<float> found;
  for (size_t i = size_t(column); i < values.size() && found.size() < 3; i += width)
    if (!std::isnan(values[i])) found.insert(values[i]);
  if (found.size() > 2)
    fail_about(key, name, " takes two kinds of samples apart, as 0 and 1, and this target has more values; MAE, RMSE ",
               "and R2 measure values");
}

void check_metrics(const Experiment& experiment, const Data& data) {
  if (data.classes > 0) return;
  for (const Split* split : {&data.train, &data.validation, &data.test}) {
    const Tensor& targets = split->targets;
    // One number of each sample or step. Metrics of two kinds refuse several themselves.
    if (data.targets.empty() && !targets.empty() && (data.sequence || targets.elements() == targets.shape()[0]))
      for (const Made<Metric>& metric : experiment.params.metrics)
        check_two_kinds(*metric, class_name_of(metric), targets, 0, 1, "metrics");
    for (const auto& [name, output] : experiment.params.outputs) {
      int64_t column = 0;
      for (const NamedTarget& target : data.targets) {
        if (target.name == name && target.kind == TargetKind::number && output.metrics)
          for (const Made<Metric>& metric : *output.metrics)
            check_two_kinds(*metric, text(name, ": ", class_name_of(metric)), targets, column,
                            size_t(columns_of(data.targets)), "outputs");
        column += target.columns();
      }
    }
  }
}

// A number of a training sample, as the net sees it, that is no share; nothing where all are. Bytes that are not held
// count from end to end, whichever of them a sample has.
std::optional<double> beyond_shares(const Data& data) {
  const size_t channels = std::max<size_t>(data.means.size(), 1);
  const auto seen = [&](double raw, size_t channel) {
    const double value = raw * double(data.scale) + double(data.shift);
    return data.means.empty() ? value : (value - data.means[channel]) / data.deviations[channel];
  };
  if (data.train.dtype() == DType::u8 && data.train.inputs.empty()) {
    for (size_t channel = 0; channel < channels; ++channel)
      for (const double byte : {0.0, 255.0})
        if (!is_share(seen(byte, channel))) return seen(byte, channel);
    return std::nullopt;
  }
  const size_t pixels = std::max<size_t>(size_t(data.sample.elements()) / channels, 1);
  const auto find = [&](const auto& values) -> std::optional<double> {
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t channel = data.channels_last ? i % channels : i / pixels % channels;
      const double value = seen(double(values[i]), channel);
      if (value < -kRounding || value > 1 + kRounding) return value;  // not NaN, which is padding
    }
    return std::nullopt;
  };
  const Tensor& inputs = data.train.inputs;
  if (inputs.empty() || (inputs.dtype() != DType::f32 && inputs.dtype() != DType::u8)) return std::nullopt;
  return inputs.dtype() == DType::u8 ? find(inputs.as<uint8_t>()) : find(inputs.as<float>());
}

// Samples that are targets, or visible units.
void check_samples(const Experiment& experiment, const Data& data, const DataLayout& layout) {
  if (data.tokens > 0) return;
  for (const TrainedPhase& phase : experiment.phases()) {
    const bool of_rule = phase.source.rule && phase.source.rule->takes_shares(*phase.network);
    const bool of_cost = phase.source.cost && phase.layout(layout).target_is_input &&
                         experiment.params.outputs.empty() && takes_shares(*phase.source.cost);
    if (!of_rule && !of_cost) continue;
    const std::optional<double> value = beyond_shares(data);
    if (!value) return;
    const std::string where = phase.name.empty() ? "" : text("phase ", in_quotes(phase.name), ": ");
    const char* const key = !phase.name.empty() ? "phases" : of_rule ? "rule" : "cost";
    constexpr const char* kMend = "leave normalize and sym_range out, or ";
    if (of_rule)
      fail_about(key, where, "visible units that are binary take numbers between 0 and 1, and those of samples go to ",
                 formatted("%.4g", *value), "; ", kMend, "give the RBM visible: gaussian");
    fail_about(key, where, "the cost compares outputs between 0 and 1 with the samples, whose numbers go to ",
               formatted("%.4g", *value), "; ", kMend, "write MeanSquared");
  }
}

}  // namespace

void check_target_range(const Experiment& experiment, const Data& data, const DataLayout& layout) {
  check_targets(experiment, data);
  check_metrics(experiment, data);
  check_samples(experiment, data, layout);
}

}  // namespace neon
