// How many samples of a split have each class.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

// Samples by class; pixels, steps or boxes where each of these has a class. With several targets: samples by class or
// label, those of each such target side by side. Throws a data error that names `source` for a label without a class.
std::vector<int64_t> class_sizes(const Split& split, const SampleMeaning& meaning, const std::string& source);

// The entries of class_sizes() that are of target k of several; none of numbers.
std::vector<int64_t> sizes_of_target(const std::vector<int64_t>& sizes, const std::vector<NamedTarget>& targets,
                                     size_t k);

}  // namespace neon
