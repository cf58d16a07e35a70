// A metrics file as HDF5 makes it: an image in memory, and one read back. For the metrics files in this folder.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "neon/core/part.h"
#include "neon/train/metrics_file.h"

namespace neon {

inline constexpr size_t kNowhere = ~size_t(0);
inline constexpr size_t kStatusBytes = 8;  // "complete", and shorter ones padded with zeros

// The bytes of the file, and where in them the values stand.
struct MetricsImage {
  std::vector<std::byte> bytes;
  size_t status = 0;
  std::vector<size_t> series;      // of each series' first value; kNowhere for one without values
  std::vector<size_t> attributes;  // of each number; kNowhere for a text
};

struct MetricsPart {
  static constexpr PartName kName = {"hdf5", "metrics files need", "libhdf5-dev"};
  // All series blank, all attributes set, status "running". Throws a failed error with HDF5's words.
  MetricsImage (*make)(const std::vector<SeriesSpec>& series, const std::vector<AttributeSpec>& attributes);
  // In this process: for a file that may be damaged use read_metrics(). Throws a data error.
  MetricsContents (*read)(const std::string& path);
  // The same for a file of neon 1.x, as if it were one of neon's own.
  bool (*is_old)(const std::string& path);
  MetricsContents (*read_old)(const std::string& path);
};

// Functions of old_metrics.cpp, for the table.
bool is_old_metrics_file(const std::string& path);
MetricsContents read_old_metrics_hdf5(const std::string& path);

}  // namespace neon
