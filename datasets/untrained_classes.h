// Classes that a net cannot learn, or that may be meant as one.
#pragma once
#include "datasets/dataset.h"

namespace neon {

// Warns of classes and labels that no training sample has.
void warn_of_untrained(const Data& data, const DataContext& context);

// Notes classes or labels whose names are written alike, as 'Cat' and 'cat'.
void note_alike_classes(const SampleMeaning& data, const std::string& source, const DataContext& context);

}  // namespace neon
