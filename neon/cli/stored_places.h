// The places that the data of a checkpoint may lie in.
#pragma once
#include <optional>

#include "datasets/read_limits.h"
#include "neon/cli/session.h"

namespace neon {

// The limits for the checkpoint at `path`; none if a run of this user wrote it (own_key.h). Any other checkpoint may
// only name data in its own folder, the current one, the folder of data sets, and places that the command line names.
std::optional<ReadLimits> read_limits(const CommandLine& line, const OpenedRun& opened, const std::string& path);

// A resumed run saves its options as this user's. Folders that the limits forbid are taken out before.
void forget_forbidden_places(RunOptions& options, const ReadLimits& limits);

}  // namespace neon
