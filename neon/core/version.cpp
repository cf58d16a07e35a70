#include "neon/core/version.h"

namespace neon {

std::string_view version() { return NEON_VERSION; }

}  // namespace neon
