// A path near one that is missing.
#pragma once
#include <string>

namespace neon {

// "; did you mean train?": the nearest name in the same folder. Where that folder is not
// there either: "; there is no folder phots; did you mean photos?". "" where nothing is near.
std::string nearest_file(const std::string& path);

}  // namespace neon
