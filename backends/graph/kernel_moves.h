// Whether a kernel's work may be done later, by another kernel. Used by lowering alone.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// Whether what kernel `from` reads would be another at the place of kernel `to`: a kernel in between writes it.
bool is_written_between(const Lowered& lowered, size_t from, size_t to);

}  // namespace neon
