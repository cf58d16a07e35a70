// Costs: one number for each sample, from outputs y (N,K) and targets t (N,K); the training cost is their mean.
#pragma once
#include "backends/graph/expression.h"
#include "neon/core/registry.h"

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

 protected:
  // The formula, for y and t of the same shape.
  virtual Expr each(Expr y, Expr t) const = 0;
};

}  // namespace neon
