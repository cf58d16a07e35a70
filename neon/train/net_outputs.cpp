#include "neon/train/net_outputs.h"

#include <algorithm>

#include "neon/core/key_error.h"
#include "neon/core/message.h"

namespace neon {

void Value_of<OutputParams>::read(const Setting& from, OutputParams& out, const Constraint&, Problems& problems) {
  if (!from.is_map() && !from.is_scalar()) {
    problems.add(from, text("expected an output, as in {layer: price, cost: MeanSquared}, found ", from.describe()));
    return;
  }
  out = read_params<OutputParams>(from, problems);
}

Setting Value_of<OutputParams>::write(const OutputParams& value) {
  Setting out = write_params(value);
  std::erase_if(out.entries, [&](const auto& entry) {
    return entry.value.is_null() || (entry.key == "class_weights" && !value.class_weights.is_given());
  });
  return out;
}

void check_class_weights(const OutputSpecs& outputs, const std::vector<NamedTarget>& targets) {
  for (const auto& [name, output] : outputs) {
    const auto target = std::ranges::find(targets, name, &NamedTarget::name);
    if (output.class_weights.is_given() && target != targets.end() && target->classes() == 0)
      fail_about("outputs", name, ": class_weights are for classes, and this target has ",
                 target->kind == TargetKind::labels ? "labels" : "numbers", "; leave them out");
    if (output.class_weights.is_given() && !output.class_weights.balanced && target != targets.end())
      weights_of_classes(output.class_weights,
                         {"outputs", name + ": class_weights: ", target->names, target->classes(), 0, {}});
  }
}

namespace {

WeighedClasses classes_of_target(const std::string& name, const Data& data) {
  const auto target = std::ranges::find(data.targets, name, &NamedTarget::name);
  NEON_ASSERT(target != data.targets.end());
  WeighedClasses out{"outputs", name + ": class_weights: ", target->names, target->classes(), 0, {}};
  out.counts.assign(size_t(target->width), 0.0);
  std::vector<double> row(size_t(target->width), 0.0);
  for (int64_t i = 0; i < data.train.size(); ++i) {
    put_compared(data.targets, size_t(target - data.targets.begin()), data.train.targets, i, row.data());
    for (size_t c = 0; c < row.size(); ++c) out.counts[c] += row[c];
  }
  return out;
}

}  // namespace

std::vector<std::vector<double>> weights_of_outputs(const OutputSpecs& outputs, const Data& data) {
  std::vector<std::vector<double>> out;
  for (const auto& [name, output] : outputs) {
    out.emplace_back();
    if (output.class_weights.is_given())
      out.back() = weights_of_classes(output.class_weights, classes_of_target(name, data));
  }
  return out;
}

void set_class_weights(const OutputSpecs& outputs, const Data& data, Variables& variables) {
  const std::vector<std::vector<double>> all = weights_of_outputs(outputs, data);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t c = 0; c < all[i].size() && variables.has(class_weights_of(i)); ++c)
      variables.at(class_weights_of(i)).set(int64_t(c), all[i][c]);
}

WantedLayers layers_of_outputs(const OutputSpecs& outputs) {
  WantedLayers out;
  for (const auto& [name, output] : outputs)
    if (output.layer.empty()) out.possible.push_back(name);
    else out.named.push_back(output.layer);
  return out;
}

void find_layers(OutputSpecs& outputs, const Network& network, const Setting& where, Problems& problems) {
  const std::vector<std::string> known = network.layer_names();
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto& [name, output] = outputs[i];
    const Setting* const own = where.find(name);
    const auto refuse = [&](const std::string& line) { problems.add(own ? *own : where, line); };
    if (!output.layer.empty() && !std::ranges::count(known, output.layer))
      refuse(text("no layer is named ", in_quotes(output.layer), did_you_mean(output.layer, known)));
    else if (output.layer.empty()) output.layer = std::ranges::count(known, name) ? name : network.end_name();
    for (size_t k = 0; k < i; ++k)
      if (outputs[k].second.layer == output.layer)
        refuse(text("takes the output of ", in_quotes(output.layer), ", as ", outputs[k].first,
                    " does; give it a layer of its own, named ", name, " or under layer"));
    if (output.cost && output.cost->gradient_scale() != 1)
      refuse("the `scale` of one of several costs would be its weight; give weight");
  }
  const auto is_last = [&](const auto& output) { return output.second.layer == network.end_name(); };
  if (problems.lines().empty() && std::ranges::count(known, network.end_name()) &&
      std::ranges::none_of(outputs, is_last))
    problems.add(where, text("no output takes the last layer, ", in_quotes(network.end_name()),
                             ": nothing would train it; name it under layer, or leave it out"));
}

std::vector<OutputCosts::Part> parts_of(const OutputSpecs& outputs) {
  std::vector<OutputCosts::Part> out;
  for (const auto& [name, output] : outputs)
    out.push_back({name, class_name_of(output.cost), &*output.cost, output.weight});
  return out;
}

std::vector<std::unique_ptr<Metric>> measures_of(const OutputSpecs& outputs) {
  std::vector<std::unique_ptr<Metric>> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [name, output] = outputs[i];
    if (output.metrics)
      for (const auto& metric : *output.metrics)
        out.push_back(std::make_unique<OutputMetric>(name, i, class_name_of(metric), *metric));
    out.push_back(std::make_unique<OutputCost>(name, i, *output.cost));
  }
  return out;
}

namespace {

constexpr const char* kOfLabels = "MultiLabelStats";

// Precision and recall of these labels; `params` are other parameters of the metric.
Made<Metric> metric_of_labels(const std::vector<std::string>& labels, Setting params) {
  std::vector<Setting> names;
  for (const std::string& name : labels) names.push_back(Setting::scalar(name));
  std::erase_if(params.entries, [](const auto& entry) { return entry.key == "labels"; });
  params.entries.push_back({"labels", Setting::list(std::move(names)), {}});
  Problems problems;
  Made<Metric> out;
  Value_of<Made<Metric>>::read(Setting::map({{kOfLabels, std::move(params), {}}}), out, {}, problems);
  problems.throw_if_any();
  return out;
}

// Without a metric for numbers.
std::optional<Made<Metric>> default_metric(const OutputForm& form) {
  if (form.kind == TargetKind::classes) return Made<Metric>("Misclassification");
  if (form.kind == TargetKind::number || form.names.empty()) return {};
  return metric_of_labels(form.names, Setting::map({}));
}

// Whether it is that metric without names of labels.
bool lacks_labels(const Made<Metric>& metric) {
  const Setting& resolved = metric.resolved();
  if (class_name_of(metric) != kOfLabels || !resolved.is_map()) return class_name_of(metric) == kOfLabels;
  const Setting* const labels = resolved.entries.at(0).value.find("labels");
  return !labels || labels->items.empty();
}

}  // namespace

bool name_labels(OutputSpecs& outputs, const std::vector<OutputForm>& forms) {
  bool changed = false;
  for (size_t i = 0; i < std::min(outputs.size(), forms.size()); ++i) {
    auto& metrics = outputs[i].second.metrics;
    if (!metrics || forms[i].kind != TargetKind::labels || forms[i].names.empty()) continue;
    for (Made<Metric>& metric : *metrics) {
      if (!lacks_labels(metric)) continue;
      const Setting& resolved = metric.resolved();
      metric = metric_of_labels(forms[i].names, resolved.is_map() ? resolved.entries.at(0).value : Setting::map({}));
      changed = true;
    }
  }
  return changed;
}

std::vector<std::unique_ptr<Metric>> add_default_metrics(OutputSpecs& outputs, const std::vector<OutputForm>& forms) {
  std::vector<std::unique_ptr<Metric>> out;
  for (size_t i = 0; i < std::min(outputs.size(), forms.size()); ++i) {
    auto& [name, output] = outputs[i];
    if (output.metrics) continue;
    output.metrics.emplace();
    const std::optional<Made<Metric>> metric = default_metric(forms[i]);
    if (!metric) continue;
    output.metrics->push_back(*metric);
    out.push_back(std::make_unique<OutputMetric>(name, i, class_name_of(*metric), **metric));
  }
  return out;
}

}  // namespace neon
