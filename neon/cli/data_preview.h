// A sheet of the images that a net sees first.
#pragma once
#include <optional>
#include <string>

#include "neon/train/experiment.h"

namespace neon {

// The first `count` images that training sees, or those of the first batch, at most 64, as one PNG: in the order of the
// first epoch, and as its steps augment them. Says what is shown. A config error for samples that are no images of 1 or
// 3 channels, and for more images than an epoch has.
std::string write_preview(const Experiment& experiment, const Data& data, const RunOptions& options,
                          std::optional<int64_t> count, const std::string& path);

}  // namespace neon
