// A metrics file as a small run declares it, and what h5py reads of one.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "neon/train/metrics_file.h"

namespace neon_test {

// A run of some epochs of 4 minibatches each.
std::vector<neon::SeriesSpec> run_series(int64_t epochs = 3);
std::vector<neon::AttributeSpec> run_attributes(int64_t epochs = 3);
neon::MetricsFile small_file(const std::string& path, const neon::MetricsFile::History* history = nullptr);

// Exit status and output of Python code, with the open file as f.
std::pair<int, std::string> python(const std::string& path, const std::string& code);
// The first line that Python prints of a value.
std::string python_says(const std::string& path, const std::string& code);

}  // namespace neon_test
