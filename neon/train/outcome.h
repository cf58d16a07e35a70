// Outputs of a net for the samples of a set beside their targets: tables of classes, and of values.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "transforms/metric.h"

namespace neon {

// Keeps all outputs, targets and weights of an evaluation, those of several outputs side by side. It is in no registry;
// nets whose outputs are not compared one by one with the targets keep nothing.
class KeptOutputs : public Metric {
 public:
  const void* params_address() const override { return nullptr; }
  std::vector<Result> results() const override { return {}; }
  bool keeps_samples() const override { return true; }
  bool in_own_units(int) const override { return true; }
  std::vector<Expr> sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const override;
  std::vector<double> finish(const std::vector<std::vector<double>>&, double) const override { return {}; }
  std::string objection(int64_t, int64_t) const override { return ""; }

 protected:
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return {y, t, weight}; }
};

// Keeps the cost of each sample of an evaluation. It is in no registry.
class SampleCosts : public Metric {
 public:
  const void* params_address() const override { return nullptr; }
  std::vector<Result> results() const override { return {}; }
  bool keeps_samples() const override { return true; }
  bool of_costs() const override { return true; }
  std::vector<double> finish(const std::vector<std::vector<double>>&, double) const override { return {}; }
  std::string objection(int64_t, int64_t) const override { return ""; }

 protected:
  std::vector<Expr> partial(Expr, Expr, Expr) const override { return {}; }
};

// Outputs and targets (n, width) of samples that count, row by row.
struct Outcome {
  int64_t width = 0;
  std::vector<double> y, t;
  int64_t rows_of_sample = 1;         // more where each step has numbers of its own
  std::vector<int64_t> numbers = {};  // of the samples in their source; empty: they are numbered as they lie
  int64_t size() const { return width == 0 ? 0 : int64_t(y.size()) / width; }
};
// From the sums of KeptOutputs.
Outcome outcome_of(const std::vector<std::vector<double>>& sums);

// Targets have a 1 for the true class. The first of equal outputs is the predicted class.
struct ClassReport {
  struct OfClass {
    double precision = 0, recall = 0, f1 = 0;  // 0 where nothing is to be divided by
    double iou = 0;                            // intersection over union: right ones / (true or predicted ones)
    int64_t support = 0, predicted = 0;        // samples of the class, and samples that it was predicted for
  };
  std::vector<OfClass> classes;
  // Means over the classes: plain, and by support. The plain one leaves out classes that no sample has and that none
  // was predicted for, as those that fill up a number of classes.
  OfClass macro, weighted;
  double accuracy = 0;
  std::vector<std::vector<int64_t>> confusion;  // [true class][predicted class]
  // Calibration, where outputs are shares of 1: samples by the output of the predicted class.
  struct Bin {
    double low = 0, high = 0;      // in (low, high]
    double output = 0, right = 0;  // means
    int64_t samples = 0;
  };
  std::vector<Bin> bins;         // those with samples; empty: outputs are no shares
  double calibration_error = 0;  // the mean of |output - right|, by samples (Guo et al. 2017)
};
ClassReport class_report(const Outcome& outcome);
// The same of counts [true class][predicted class], without a calibration.
ClassReport class_report(std::vector<std::vector<int64_t>> confusion);
// Targets have a 1 for each label, which outputs of at least 0.5 predict. Accuracy is the share of samples all of whose
// labels are right; there is no confusion and no calibration.
ClassReport label_report(const Outcome& outcome);

// The differences of an output from its targets.
struct ValueReport {
  double bias = 0, deviation = 0;  // mean of y - t; its deviation
  double mae = 0, rmse = 0, r2 = 0;
  std::array<double, 5> quantiles{};  // of y - t: 5, 25, 50, 75 and 95 %, between neighbours in proportion
  double largest = 0;                 // the largest |y - t|
  int64_t largest_at = 0;             // the number of its sample
};
ValueReport value_report(const Outcome& outcome, int64_t output);

}  // namespace neon
