// Costs made of others: Multicost, a cost for each output of a net, and neon's wrapper of a cost.
#include <algorithm>

#include "neon/core/counted.h"
#include "transforms/cost.h"
#include "transforms/parts.h"

namespace neon {

namespace {

// Costs that do not compare rows of outputs with rows of targets.
void refuse_whole(const Cost& cost, const char* where) {
  if (cost.of_sequences() || cost.of_objects())
    fail(ErrorKind::config, where, cost.of_objects() ? " compares boxes of objects" : " compares sequences of labels",
         " with all that a net predicts, and so stands alone; name it as the cost itself");
}

struct MulticostParams {
  std::vector<Made<Cost>> costs;
  std::vector<double> weights;
  static void describe(auto&& p) {
    p("costs", &MulticostParams::costs, "A cost for each output, that of the last layer first.", Required{});
    p("weights", &MulticostParams::weights, "Factors of the costs; without them all are 1.", at_least(0));
  }
};
struct Multicost : Parametrized<Cost, MulticostParams> {
  explicit Multicost(MulticostParams given) : Parametrized(std::move(given)) {
    if (params.costs.empty()) fail(ErrorKind::config, "costs: a list of at least one cost");
    for (const auto& cost : params.costs) {
      if (cost->gradient_scale() != 1)
        fail(ErrorKind::config, "the `scale` of one of several costs would be its weight; give weights");
      if (cost->masks()) fail(ErrorKind::config, "a cost with a mask stands alone, not among several");
      refuse_whole(*cost, "one of several costs");
    }
    if (params.weights.empty()) params.weights.assign(params.costs.size(), 1);
    if (params.weights.size() != params.costs.size())
      fail(ErrorKind::config, "Multicost has ", counted(int64_t(params.costs.size()), "cost"), " and ",
           counted(int64_t(params.weights.size()), "weight"));
  }
  bool suits(TargetKind) const override { return false; }
  // A SingleOutputTree that does not train has one output, and then its cost alone counts.
  Expr apply_all(const std::vector<Expr>& outputs, Expr t) const override {
    if (outputs.size() > params.costs.size()) fail_about("cost", count(outputs.size()));
    Expr total = weighted(0, outputs[0], t);
    for (size_t i = 1; i < outputs.size(); ++i) total = total + weighted(i, outputs[i], t);
    return total;
  }
  std::vector<Expr> parts(const std::vector<Expr>& outputs, Expr t) const override {
    std::vector<Expr> out;
    for (size_t i = 0; i < outputs.size(); ++i) out.push_back(params.costs[i]->apply(outputs[i], t));
    return out;
  }
  double weight_of(size_t output) const override { return params.weights[output]; }
  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    return params.costs[0]->objection(outputs, classes, last);
  }
  std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const override {
    if (outputs.size() != params.costs.size()) return count(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string line = params.costs[i]->objection(outputs[i].width, classes, outputs[i].last_op);
      if (!line.empty()) return text("costs[", i, "]: ", line);
    }
    return "";
  }
  std::string advice(const std::vector<OutputForm>& outputs, int64_t classes) const override {
    for (size_t i = 0; i < std::min(outputs.size(), params.costs.size()); ++i)
      if (const std::string line = params.costs[i]->advice({outputs[i]}, classes); !line.empty())
        return text(": costs[", i, "]", line);
    return "";
  }

 protected:
  Expr each(Expr y, Expr t) const override { return weighted(0, y, t); }

 private:
  Expr weighted(size_t i, Expr y, Expr t) const {
    const Expr cost = params.costs[i]->apply(y, t);
    return params.weights[i] == 1 ? cost : cost * params.weights[i];
  }
  std::string count(size_t outputs) const {
    return text("Multicost has ", counted(int64_t(params.costs.size()), "cost"), " and the net ", outputs,
                " outputs: its last layer's, and those of the branches of a Tree");
  }
};
NEON_REGISTER(Cost, Multicost, "The weighted sum of a cost for each output of a net.");

struct GeneralizedCostParams {
  Made<Cost> costfunc;
  static void describe(auto&& p) { p("costfunc", &GeneralizedCostParams::costfunc, "The cost.", Required{}); }
};
// All that a net and a run ask of a cost, they ask of the one in it.
struct GeneralizedCost : Parametrized<Cost, GeneralizedCostParams> {
  using Parametrized::Parametrized;
  Expr apply_all(const std::vector<Expr>& outputs, Expr t) const override {
    return params.costfunc->apply_all(outputs, t);
  }
  std::vector<Expr> parts(const std::vector<Expr>& outputs, Expr t) const override {
    return params.costfunc->parts(outputs, t);
  }
  double weight_of(size_t output) const override { return params.costfunc->weight_of(output); }
  bool of_sequences() const override { return params.costfunc->of_sequences(); }
  Expr of_sequence(Expr scores, Value labels, Value lengths) const override {
    return params.costfunc->of_sequence(scores, labels, lengths);
  }
  int64_t blank() const override { return params.costfunc->blank(); }
  bool of_objects() const override { return params.costfunc->of_objects(); }
  Expr of_boxes(const BoxOutputs& y, Expr boxes) const override { return params.costfunc->of_boxes(y, boxes); }
  bool masks() const override { return params.costfunc->masks(); }
  double gradient_scale() const override { return params.costfunc->gradient_scale(); }
  bool suits(TargetKind kind) const override { return params.costfunc->suits(kind); }
  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    return params.costfunc->objection(outputs, classes, last);
  }
  std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const override {
    return params.costfunc->objection(outputs, classes);
  }
  std::string advice(const std::vector<OutputForm>& outputs, int64_t classes) const override {
    return params.costfunc->advice(outputs, classes);
  }
  Expr of_logarithms(Expr at_label, Expr mean) const override { return params.costfunc->of_logarithms(at_label, mean); }

 protected:
  Expr each(Expr y, Expr t) const override { return params.costfunc->apply(y, t); }
};
NEON_REGISTER(Cost, GeneralizedCost, "A cost in the wrapper that neon 1.x had around it.");

struct GeneralizedCostMaskParams : GeneralizedCostParams {
  double weights = 1;
  static void describe(auto&& p) {
    GeneralizedCostParams::describe(p);
    p("weights", &GeneralizedCostMaskParams::weights, "Factor of the cost.", at_least(0));
  }
};
// neon had targets and mask as two arrays, and took costfunc's gradient times the mask; here it is that of what is
// reported.
struct GeneralizedCostMask : Parametrized<Cost, GeneralizedCostMaskParams> {
  explicit GeneralizedCostMask(GeneralizedCostMaskParams given) : Parametrized(std::move(given)) {
    if (params.costfunc->masks()) fail(ErrorKind::config, "costfunc: has a mask already");
    refuse_whole(*params.costfunc, "costfunc");
  }
  bool masks() const override { return true; }
  double gradient_scale() const override { return params.costfunc->gradient_scale(); }
  using Cost::objection;
  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    if (classes > 0) return "GeneralizedCostMask takes targets with a mask behind them; labels of classes have none";
    return params.costfunc->objection(outputs, classes, last);
  }
  // t (N,2K): what y (N,K) is compared with, and its mask.
  Expr apply_all(const std::vector<Expr>& outputs, Expr t) const override {
    const Expr y = outputs[0];
    const int64_t width = y.shape()[1];
    if (outputs.size() > 1 || t.shape()[1] != 2 * width)
      fail(ErrorKind::config, "GeneralizedCostMask takes one output (N, K) and targets (N, 2 K), found ",
           outputs.size(), " (first ", y.shape(), ") and ", t.shape());
    const auto half = [&](int64_t first) { return part(t, 1, first, width); };
    const Expr mask = half(width);
    return each(y * mask, half(0) * mask);
  }

 protected:
  Expr each(Expr y, Expr t) const override { return params.weights * params.costfunc->apply(y, t); }
};
NEON_REGISTER(Cost, GeneralizedCostMask,
              "A cost of masked outputs and targets; a sample's mask stands behind its target, as many numbers.");

}  // namespace

}  // namespace neon
