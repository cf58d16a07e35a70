// The buckets of a spec's sequences, for neon check.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/session.h"

namespace neon {

// The lengths of batches and the padding of the first epoch; none without buckets, or where the samples are not there.
// Reads the samples. Throws a config error where the net's weights depend on the length.
std::vector<std::string> bucket_lines(const OpenedSpec& spec, const RunOptions& options, const DataCheck& check);

}  // namespace neon
