// Several targets of samples in arrays, an array for each.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/arrays.h"

namespace neon {

// Names of targets, and of the arrays that have them.
using TargetArrays = std::vector<std::pair<std::string, std::string>>;

// Reads the array of that name; the text stands for it in messages.
using ReadTarget = std::function<std::pair<Tensor, std::string>(const std::string& array)>;

// Throws a config error for parameters that are about one target alone.
void check_one_target_alone(const ArrayParams& params, const TargetArrays& targets);

// The kinds of the targets by the values of the training samples. Whole numbers (n) are classes, 0 to k - 1; rows (n,k)
// with one 1 among zeros are k classes, other rows of zeros and ones k labels; all else, and with `regression` all, is
// numbers. A net that was trained before gives its own kinds. `samples` are what the targets are of: a data error for
// targets of the steps of sequences.
std::vector<NamedTarget> describe_targets(const TargetArrays& targets, const ArrayParams& params,
                                          const SampleMeaning& samples, const DataContext& context,
                                          const ReadTarget& read);

// The rows (n, columns of all) f32 of a split of so many samples.
Tensor rows_of_targets(const std::vector<NamedTarget>& described, const TargetArrays& targets, int64_t samples,
                       const ReadTarget& read);

}  // namespace neon
