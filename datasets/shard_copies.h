// Samples of shards that have the same bytes.
#pragma once
#include <string>

#include "datasets/data_context.h"
#include "datasets/shard_folder.h"

namespace neon {

// Warns of test and validation samples that are training samples, too, since a net has seen them, and of samples that
// are in two classes. The warnings say how many these are, and name the first of them. Reads the tables of the shards,
// and the contents of what has the checksum and the length of another sample.
void warn_of_copies(const std::string& folder, const ShardIndex& index, const DataContext& context);

}  // namespace neon
