// Which data a run began with, to tell at a resume whether they are the same.
#pragma once
#include <string>

#include "datasets/dataset.h"

namespace neon {

// "96 training samples (5e6f7a8b), 40 test samples (12345678)": counts, and a checksum of types, shapes, values and
// scaling of either set.
std::string fingerprint(const Data& data);

}  // namespace neon
