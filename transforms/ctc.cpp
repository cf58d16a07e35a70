// CTC (Graves et al. 2006): the cost of a sequence of labels by scores of classes at more steps than there are labels.
#include "backends/graph/label_sequences.h"
#include "backends/graph/ops.h"
#include "neon/core/key_error.h"
#include "transforms/cost.h"

namespace neon {

namespace {

struct CtcParams {
  int64_t blank = 0;
  std::string infeasible = "infinite";
  static void describe(auto&& p) {
    p("blank", &CtcParams::blank,
      "Class that stands for no label, one of the outputs; targets must not have it. Label 1 of a data set is class 1.",
      at_least(0));
    p("infeasible", &CtcParams::infeasible,
      "Cost of labels that do not fit into the steps: a step for each label, and one between two equal labels. zero "
      "leaves them out of training; infinite ends the run.",
      one_of({"infinite", "zero"}));
  }
};

struct CTC : Parametrized<Cost, CtcParams> {
  using Parametrized::Parametrized;
  bool of_sequences() const override { return true; }
  int64_t blank() const override { return params.blank; }
  bool leaves_out_misfits() const override { return params.infeasible == "zero"; }

  Expr of_sequence(Expr scores, Value labels, Value lengths) const override {
    Graph& graph = scores.graph();
    if (params.blank >= scores.shape().back()) fail_about("cost", blank_text(scores.shape().back()));
    const Value z = graph.add(ops::log_softmax, {scores});
    const Expr cost = reshape(Expr(graph, ctc(graph, z, labels, lengths, params.blank)), {scores.shape()[0], 1});
    if (params.infeasible == "infinite") return cost;
    return neon::apply("select", neon::apply("is_finite", cost), cost, cost.constant(0));
  }

  std::string objection(int64_t outputs, int64_t classes, const std::string& last) const override {
    if (last == "softmax" || last == "log_softmax" || last == kPartOfSoftmax)
      return "CTC takes scores and makes a softmax of them itself; leave activation: Softmax of the last layer out";
    if (params.blank >= outputs) return blank_text(outputs);
    return Cost::objection(outputs, classes, last);
  }
  std::string advice(const std::vector<OutputForm>&, int64_t) const override { return ""; }

 private:
  std::string blank_text(int64_t outputs) const {
    return text("CTC: blank is ", params.blank, ", but the ", outputs, " outputs count from 0 to ", outputs - 1);
  }

 protected:
  Expr each(Expr y, Expr) const override { return y; }  // apply_all() refuses whatever has no sequences
};
NEON_REGISTER(
    Cost, CTC,
    "-log of the probability of a sequence of labels, over all ways to give them at the steps (Graves et al. 2006). "
    "CTC makes a softmax of the scores. The cost of a batch is the mean over its samples; it is not divided by "
    "the numbers of labels.");

}  // namespace

}  // namespace neon
