// Whether a kernel's work may be done later, by another kernel. Used by lowering alone.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// The array that a value lies in: that of a concatenation, or of what a view sees.
Value array_of(const Lowered& lowered, Value value);

// Whether what kernel `from` reads would be another at the place of kernel `to`: a kernel in between writes it.
bool is_written_between(const Lowered& lowered, size_t from, size_t to);

// Whether kernel `from` may be done at the place of the later kernel `to`: no kernel in between reads what it makes, or
// writes what it reads.
bool may_wait(const Lowered& lowered, size_t from, size_t to);

}  // namespace neon
