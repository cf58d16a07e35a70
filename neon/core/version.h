// The version of the program, from the build.
#pragma once
#include <string_view>

namespace neon {

std::string_view version();  // "0.1.0"

}  // namespace neon
