// Classes that a net has outputs for and cannot learn.
#pragma once
#include "datasets/dataset.h"

namespace neon {

// Warns of classes and labels that no training sample has.
void warn_of_untrained(const Data& data, const DataContext& context);

}  // namespace neon
