// Paths of data in a spec that goes to another folder.
#pragma once
#include <filesystem>
#include <vector>

#include "neon/core/setting.h"

namespace neon {

// Makes the paths of a spec's data set, and of word vectors, absolute: those that one of the folders has, the first
// that does.
void name_data_from_root(Setting& root, const std::vector<std::filesystem::path>& folders);

// The files and folders that these paths mean.
std::vector<std::string> places_of_data(Setting root, const std::vector<std::filesystem::path>& folders);

}  // namespace neon
