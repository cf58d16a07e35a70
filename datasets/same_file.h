// Files that are given to train with and to test with.
#pragma once
#include <filesystem>
#include <string>

#include "datasets/dataset.h"

namespace neon {

// Warns where `other`, which the data set's key names, is the file or folder of the training samples.
inline void warn_of_same_file(const std::string& train, const std::string& other, const char* key,
                              const DataContext& context) {
  std::error_code ignored;
  if (!other.empty() && std::filesystem::equivalent(train, other, ignored))
    context.warn(text(other, ": ", key, " names the file of the training samples: its results are those of samples ",
                      "that the net has learnt from"));
}

}  // namespace neon
