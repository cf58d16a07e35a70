// A sheet of the images that a net sees first.
#pragma once
#include <string>

#include "neon/train/experiment.h"

namespace neon {

// Up to 64 training images, in the order of the first epoch and as its first step augments them, as one PNG. A config
// error for samples that are no images of 1 or 3 channels.
void write_preview(const Experiment& experiment, const Data& data, const RunOptions& options, const std::string& path);

}  // namespace neon
