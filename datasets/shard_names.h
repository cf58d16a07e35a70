// The names of the files that samples of shards were packed from, for people: a file PART.names.json beside the shards,
// a list in the order of the part's samples. Shards of an older neon have none.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

// The name of that file, as index.json has it.
std::string names_file(const std::string& part);
// Throws a failed error where it cannot be written.
void write_shard_names(const std::string& path, const std::vector<std::string>& names);
// Names of so many samples; the file is read when the first of them is asked for, by any thread. A data error then says
// how it is damaged.
std::shared_ptr<const SampleFiles> shard_names(const std::string& path, int64_t samples);

}  // namespace neon
