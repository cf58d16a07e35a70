// How often each class is predicted for each true class, where the parts of a sample have classes: pixels, or steps.
#pragma once
#include <cstdint>
#include <vector>

#include "transforms/metric.h"

namespace neon {

// Counts the pixels or steps of an evaluation by true and predicted class, without keeping their outputs. It is in no
// registry. The first of equal outputs is the predicted class.
class ClassCounts : public Metric {
 public:
  const void* params_address() const override { return nullptr; }
  std::vector<Result> results() const override { return {}; }
  std::vector<double> finish(const std::vector<std::vector<double>>&, double) const override { return {}; }
  std::string objection(int64_t, int64_t) const override { return ""; }

 protected:
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override;
};

// From the sums of ClassCounts: counts [true class][predicted class].
std::vector<std::vector<int64_t>> confusion_of(const std::vector<std::vector<double>>& sums);

}  // namespace neon
