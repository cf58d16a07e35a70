// Cross validation: the samples are dealt out to folds, one of which is tested with; a run of each tests all samples.
#pragma once
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

// The fold of each sample, from 0. Each class has as many samples in a fold as in another, or one more, and so has the
// whole set. Larger groups make larger differences.
std::vector<int64_t> fold_of_each(const GroupedSamples& samples, int64_t folds);

// Throws a config error for folds that do not exist, or that cannot be made of so many samples of `source`: it has
// others to test with, or too few.
void check_folds(const Dataset::Common& common, int64_t samples, int64_t test_samples, const std::string& source);

// Samples of the fold that is tested with, of so many samples without groups.
int64_t fold_size(const Dataset::Common& common, int64_t samples);

// Warns of classes that have samples, but fewer than folds: some folds test none of theirs.
void warn_of_small_classes(const GroupedSamples& samples, const std::vector<std::string>& names, int64_t folds,
                           const std::string& source, const DataContext& context);

// Moves the samples of the fold from the training set to the test set.
void split_fold(Data& data, const Dataset::Common& common, const DataContext& context);

}  // namespace neon
