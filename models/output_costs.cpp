#include "models/output_costs.h"

#include <algorithm>

#include "backends/graph/passes.h"
#include "models/several_targets.h"

namespace neon {

Expr target_of(const std::vector<Expr>& outputs, size_t place, Expr t) {
  int64_t first = 0;
  for (size_t i = 0; i < place; ++i) first += outputs[i].shape()[1];
  return columns_of(t, first, outputs[place].shape()[1]);
}

namespace {

// The costs that compare targets of a kind.
const char* costs_for(TargetKind kind) {
  switch (kind) {
    case TargetKind::classes: return "CrossEntropyMulti, after Softmax, compares classes";
    case TargetKind::labels: return "CrossEntropyBinary, after Logistic, compares labels";
    case TargetKind::number: break;
  }
  return "MeanSquared compares numbers";
}

// The way to a class for one who has a number of 0 or 1 and a cost of classes or labels.
std::string way_to_class(const Cost& cost, const std::string& name, TargetKind kind) {
  if (kind != TargetKind::number || !(cost.suits(TargetKind::labels) || cost.suits(TargetKind::classes))) return "";
  return text("; 0 and 1 can be classes: targets: {", name, ": classes} of a table, whole numbers of an array");
}

const char* article_of(TargetKind kind) { return kind == TargetKind::number ? "a number" : "of classes"; }

}  // namespace

std::vector<Expr> OutputCosts::parts(const std::vector<Expr>& outputs, Expr t) const {
  NEON_ASSERT(outputs.size() == parts_.size());
  std::vector<Expr> out;
  for (size_t i = 0; i < parts_.size(); ++i) out.push_back(parts_[i].cost->apply(outputs[i], target_of(outputs, i, t)));
  return out;
}

Expr OutputCosts::apply_all(const std::vector<Expr>& outputs, Expr t) const {
  const std::vector<Expr> each = parts(outputs, t);
  Expr total;
  for (size_t i = 0; i < each.size(); ++i) {
    const Expr weighted = parts_[i].weight == 1 ? each[i] : each[i] * parts_[i].weight;
    total = total.value() ? total + weighted : weighted;
  }
  return total;
}

std::string OutputCosts::objection(const std::vector<OutputForm>& outputs, int64_t) const {
  for (size_t i = 0; i < std::min(outputs.size(), parts_.size()); ++i) {
    const OutputForm& form = outputs[i];
    const Part& part = parts_[i];
    if (!part.cost->suits(form.kind))
      return text(part.name, ": the target is ", form.kind == TargetKind::labels ? "labels" : article_of(form.kind),
                  ", and ", part.cost_name, " does not compare these; ", costs_for(form.kind),
                  way_to_class(*part.cost, part.name, form.kind));
    if (const std::string line = part.cost->objection({form}, form.classes); !line.empty())
      return text(part.name, ": ", line);
  }
  return "";
}

std::string OutputCosts::advice(const std::vector<OutputForm>& outputs, int64_t) const {
  for (size_t i = 0; i < std::min(outputs.size(), parts_.size()); ++i)
    if (const std::string line = parts_[i].cost->advice({outputs[i]}, outputs[i].classes); !line.empty())
      return text(parts_[i].name, ": ", parts_[i].cost_name, line);
  return "";
}

std::vector<Metric::Result> OutputMetric::results() const {
  std::vector<Result> out = metric_.results();
  for (Result& result : out) result.name = output_ + "." + result.name, result.of_one_output = true;
  return out;
}

std::vector<Expr> OutputMetric::sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const {
  return metric_.sums(outputs[place_], target_of(outputs, place_, t), weight);
}

std::string OutputMetric::objection(const std::vector<OutputForm>& outputs, int64_t) const {
  const OutputForm& form = outputs[place_];
  const std::string line = metric_.objection({form}, form.classes);
  return line.empty() ? "" : text(output_, ": ", name_, ": ", line);
}

std::vector<Expr> OutputCost::sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const {
  return partial(outputs[place_], target_of(outputs, place_, t), weight);
}

std::vector<Expr> OutputCost::partial(Expr y, Expr t, Expr weight) const {
  const Expr each = cost_.apply(y, t) * weight;
  return {{y.graph(), on_logits(y.graph(), sum(each, all_axes(each.shape())))}};
}

}  // namespace neon
