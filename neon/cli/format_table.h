// The results of neon formats: a table for people, and the same with histograms as HDF5.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/cli/number_format.h"

namespace neon {

constexpr const char* kFormatTable = "formats.h5";
std::string folder_of_formats(const CommandLine& line, const std::string& spec);

struct FormatRun {
  uint64_t seed = 0;
  std::string metric;
  double objective = 0, seconds = 0, bytes = 0, loss_scale = 1;
  int64_t skipped = 0;
  std::map<std::string, SizeCounts> sizes;  // by array
};

// The runs of a format; none of one in which neon does not train. After a run that failed there are no more.
struct FormatRow {
  NumberFormat format;
  std::vector<FormatRun> runs;
  std::string cause;  // of a failure
};

struct MeanAndDeviation {
  double mean = 0, deviation = 0;  // of the sample: 0 of one number
};
MeanAndDeviation spread_of(const std::vector<double>& numbers);

// A line for each format: the result's mean and deviation over the seeds, mean time of a training, memory, skipped
// steps, and shares of all weights and gradients that the format cannot hold. A line below names each format whose
// means lack runs.
void print_format_table(const std::vector<FormatRow>& rows);
// The shares of each array that lost any in some format.
void print_lost_shares(const std::vector<FormatRow>& rows);
// Groups are formats: objective, seconds, bytes and skipped by seed, overflow and underflow by array. hist/ARRAY has
// the sizes that f32 counted. The rows' first is f32. Throws a data error for a file that neon did not write, unless
// `overwrite`.
void write_format_table(const std::string& path, const std::vector<FormatRow>& rows, bool overwrite);

}  // namespace neon
