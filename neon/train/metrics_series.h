// The series of a metrics file before it is laid out.
#pragma once
#include <vector>

#include "neon/train/metrics_file.h"

namespace neon {

// Throws a config error for two series of one path, an impossible one, or a file that is too large.
void check_series(const std::vector<SeriesSpec>& series);

// Adds places for the points of an earlier file (null: none) to a series by epochs. Returns how many points of the file
// then stand for one of the run.
int64_t add_places(SeriesSpec& spec, const StoredSeries* old);

}  // namespace neon
