// The cost and the metrics of a net with several outputs, each with a target of its own.
#pragma once
#include <string>
#include <vector>

#include "transforms/cost.h"
#include "transforms/metric.h"

namespace neon {

// The targets (N,K) of output `place`, of those of all outputs side by side.
Expr target_of(const std::vector<Expr>& outputs, size_t place, Expr t);

// The weighted sum of a cost for each output. Targets stand side by side, in the order of the outputs.
class OutputCosts : public Cost {
 public:
  struct Part {
    std::string name, cost_name;  // of the output and of the class of its cost
    const Cost* cost;             // borrowed
    double weight = 1;
  };
  explicit OutputCosts(std::vector<Part> parts) : parts_(std::move(parts)) {}
  const void* params_address() const override { return nullptr; }
  Expr apply_all(const std::vector<Expr>& outputs, Expr t) const override;
  std::vector<Expr> parts(const std::vector<Expr>& outputs, Expr t) const override;
  double weight_of(size_t output) const override { return parts_[output].weight; }
  using Cost::objection;
  std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const override;
  std::string advice(const std::vector<OutputForm>& outputs, int64_t classes) const override;

 protected:
  Expr each(Expr y, Expr t) const override { return apply_all({y}, t); }

 private:
  const std::vector<Part> parts_;
};

// A metric of one output, whose name stands before those of the results: "price.MAE".
class OutputMetric : public Metric {
 public:
  // `name` is that of the metric, which is borrowed.
  OutputMetric(std::string output, size_t place, std::string name, const Metric& metric)
      : output_(std::move(output)), place_(place), name_(std::move(name)), metric_(metric) {}
  const void* params_address() const override { return metric_.params_address(); }
  std::vector<Result> results() const override;
  std::vector<Expr> sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const override;
  bool of_sequences() const override { return metric_.of_sequences(); }
  bool of_objects() const override { return metric_.of_objects(); }
  bool keeps_samples() const override { return metric_.keeps_samples(); }
  bool of_two_kinds() const override { return metric_.of_two_kinds(); }
  bool in_own_units(int rules) const override { return metric_.in_own_units(rules); }
  std::vector<double> finish(const std::vector<std::vector<double>>& sums, double samples) const override {
    return metric_.finish(sums, samples);
  }
  using Metric::objection;
  std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const override;

 protected:
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return metric_.sums(y, t, weight); }

 private:
  const std::string output_;
  const size_t place_;
  const std::string name_;
  const Metric& metric_;
};

// The cost of one output as a result: "price.cost".
class OutputCost : public Metric {
 public:
  // `cost` is borrowed.
  OutputCost(std::string output, size_t place, const Cost& cost)
      : output_(std::move(output)), place_(place), cost_(cost) {}
  const void* params_address() const override { return cost_.params_address(); }
  std::vector<Result> results() const override { return {{output_ + ".cost", false, Better::lower, true}}; }
  std::vector<Expr> sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const override;
  std::vector<double> finish(const std::vector<std::vector<double>>& sums, double samples) const override {
    return {sums[0][0] / samples};
  }
  std::string objection(int64_t, int64_t) const override { return ""; }

 protected:
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override;

 private:
  const std::string output_;
  const size_t place_;
  const Cost& cost_;
};

}  // namespace neon
