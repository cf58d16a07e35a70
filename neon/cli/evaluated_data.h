// neon eval CHECKPOINT DATA: the data set of a run, read from another place.
#pragma once
#include "neon/cli/session.h"

namespace neon {

// The command line with what --set would say, so that the data set of the checkpoint is the file, folder or archive
// `path`, all of it. A config error where the run's kind of data set has no path.
CommandLine line_for_data(const CommandLine& line, const OpenedRun& opened, const std::string& path);

// Throws a data error where a table's columns, which have no codes to be found by, are not those trained with.
void check_columns(const Data& data, const SampleMeaning& trained, const std::string& path);

}  // namespace neon
