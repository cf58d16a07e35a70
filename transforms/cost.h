// Costs: one number for each sample, from outputs y (N,K) and targets t (N,K); the training cost is their mean. A net
// with branches of their own may have several outputs.
#pragma once
#include "backends/graph/expression.h"
#include "neon/core/key_error.h"
#include "neon/core/registry.h"
#include "transforms/boxes.h"
#include "transforms/output_form.h"

namespace neon {

class Cost {
 public:
  static constexpr const char* kCategory = "cost";
  virtual ~Cost() = default;
  virtual const void* params_address() const = 0;
  // y, t (N,K) -> (N,1); a config error shows both shapes where they differ.
  Expr apply(Expr y, Expr t) const {
    if (y.shape() != t.shape())
      fail(ErrorKind::config, "the cost compares outputs ", y.shape(), " with targets ", t.shape(), ": shapes differ");
    return each(y, t);
  }
  // The cost of all outputs of a net, the last layer's first.
  virtual Expr apply_all(const std::vector<Expr>& outputs, Expr t) const {
    if (outputs.size() > 1)
      fail_about("cost", "the net has ", outputs.size(),
                 " outputs, and this cost is of one; Multicost has a cost for each");
    return apply(outputs[0], t);
  }
  // The costs that apply_all() adds up, one for each output, before they are multiplied by their weights.
  virtual std::vector<Expr> parts(const std::vector<Expr>& outputs, Expr t) const { return {apply_all(outputs, t)}; }
  virtual double weight_of(size_t output) const {
    (void)output;
    return 1;
  }
  // Whether it compares scores of classes at steps with sequences of labels, through of_sequence().
  virtual bool of_sequences() const { return false; }
  // Scores (N,T,K), labels (N,L) i32 with numbers below 0 behind them, lengths (N) i32 of the scores or an invalid
  // Value
  // -> (N,1)
  virtual Expr of_sequence(Expr scores, Value labels, Value lengths) const {
    (void)labels, (void)lengths;
    NEON_ASSERT(of_sequences());
    return scores;
  }
  // The class that stands for no label, of a cost of sequences; -1: none does.
  virtual int64_t blank() const { return -1; }
  // Whether a cost of sequences leaves out samples whose labels do not fit into their steps.
  virtual bool leaves_out_misfits() const { return false; }
  // Whether it compares what a net predicts at prior boxes with boxes of objects, through of_boxes().
  virtual bool of_objects() const { return false; }
  // Boxes (N,M,6) -> (N,1)
  virtual Expr of_boxes(const BoxOutputs& y, Expr boxes) const {
    (void)boxes;
    NEON_ASSERT(of_objects());
    return y.scores;
  }
  // Whether it compares outputs with targets of that kind, where a data set says the kind of each of several.
  virtual bool suits(TargetKind kind) const {
    (void)kind;
    return !of_sequences() && !of_objects() && !masks();
  }
  // Whether targets have, after the numbers that outputs are compared with, as many that mask them.
  virtual bool masks() const { return false; }
  // neon's `scale` changes the gradient, not the reported cost.
  virtual double gradient_scale() const { return 1; }
  // A line that says why these outputs do not suit this cost, or nothing. `last` is the activation that made y:
  // the name of its op.
  virtual std::string objection(int64_t outputs, int64_t classes, const std::string& last) const {
    (void)last;
    if (classes > 0 && outputs != classes)
      return text("the last layer has ", outputs, " outputs, the data set ", classes, " classes");
    return "";
  }
  virtual std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const {
    return objection(outputs[0].width, classes, outputs[0].last_op);
  }

  // The oddity of this cost for such outputs, although it trains: the end of a sentence that begins with its name.
  virtual std::string advice(const std::vector<OutputForm>& outputs, int64_t classes) const {
    if (classes == 0 || outputs[0].last_op != "softmax") return "";
    return " on a Softmax of classes learns slowly; CrossEntropyMulti is made for it";
  }

  // The cost (rows,1) of a Softmax of classes, from the logarithm of its output at the label and the mean logarithm of
  // all its outputs; invalid where it takes more than these.
  virtual Expr of_logarithms(Expr at_label, Expr mean) const {
    (void)at_label, (void)mean;
    return {};
  }

 protected:
  // The formula, for y and t of the same shape.
  virtual Expr each(Expr y, Expr t) const = 0;
};

}  // namespace neon
