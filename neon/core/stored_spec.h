// The spec that a checkpoint has: places in it are those of the file PATH#spec.
#pragma once
#include <string>

#include "neon/core/setting.h"

namespace neon {

constexpr const char* kStoredSpec = "#spec";

inline bool is_stored(const Location& where) { return where.file && where.file->ends_with(kStoredSpec); }

}  // namespace neon
