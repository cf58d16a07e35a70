// The curve of neon lr-find: costs of steps whose learning rate grows, and the rate at which the cost falls fastest.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace neon {

struct RateCurve {
  double first = 0;  // the mean cost with the first weights
  // The mean cost around each step, as a batch of that cost would have at first; as far as it is below four times the
  // least.
  std::vector<double> costs;
  size_t least = 0;
  // The steepest step before the least; none where the cost falls by no more than batches differ.
  std::optional<size_t> steepest;
};

// Step k trained with the growing rate costs `risen[k]`, and `still[k]` on the same batch with the first weights. Their
// difference is free of much that batches differ in, and is 0 before the rate matters.
RateCurve rate_curve(const std::vector<double>& risen, const std::vector<double>& still);

}  // namespace neon
