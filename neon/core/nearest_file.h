// A path near one that is missing.
#pragma once
#include <string>

namespace neon {

// "; did you mean train?": the nearest name in the same folder. Where that folder is not
// there either: "; there is no folder phots; did you mean photos?". "" where nothing is near. With `fits`, names of
// paths for which it is true.
std::string nearest_file(const std::string& path, bool (*fits)(const std::string& path) = nullptr);

}  // namespace neon
