// Files of another kind than a verb expects, told apart by their names or their first bytes.
#pragma once
#include <string>

namespace neon {

constexpr const char* kSamplesExpected = "samples, such as .csv, .npy, .h5 or images";

// Throws where a path is a folder, a checkpoint or the user's data and a spec is expected, with the command that fits
// the file. Without the file nothing is thrown.
void check_may_be_spec(const std::string& path);

// Throws where a path is a spec's and `expected`, "a checkpoint (.safetensors)", is another kind of file.
void check_is_no_spec(const std::string& path, const char* expected);

}  // namespace neon
