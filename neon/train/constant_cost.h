// The cost of a net that has learnt nothing: one that gives the same outputs for every sample.
#pragma once
#include <optional>
#include <vector>

#include "neon/train/experiment.h"

namespace neon {

// How much each class counts beside its share; of outputs with targets of their own those of each, or none.
struct ClassFactors {
  std::vector<double> of_classes;
  std::vector<std::vector<double>> of_outputs = {};
};

// Mean cost over the training samples if each of the net's `outputs` were the shares of the classes, or the mean of the
// targets. In large sets of numbers some samples, evenly spaced, are measured. Nothing for targets with masks or
// outside of memory, or with too many classes.
// `several`: the outputs of a net for a data set with several targets.
std::optional<double> cost_of_constant(const Cost& cost, const Data& data, size_t outputs, const ClassFactors& factors,
                                       const std::vector<NetOutput>& several = {}, bool even = false);
// The same for the spec's own cost, weights of classes and sampling. With `even` the outputs know no shares: they are
// alike for all classes, 0.5 for labels and for targets of 0 and 1, and the mean of other numbers.
std::optional<double> cost_of_constant(const Experiment& experiment, const Data& data, size_t outputs,
                                       bool even = false);

}  // namespace neon
