// The pictures of guided backpropagation in a metrics file of neon 1.x, which its callback Deconv wrote.
#pragma once
#include <vector>

#include "neon/report/run_views.h"
#include "neon/train/metrics_file.h"

namespace neon {

// A sheet for each layer; none for other files.
std::vector<PictureSheet> old_guided_sheets(const MetricsContents& contents, const PictureLimits& limits);

}  // namespace neon
