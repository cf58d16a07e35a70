// The fault in a line that the parser stopped at, where columns make lists and maps.
#pragma once
#include <string>

#include "neon/spec/source.h"

namespace neon {

// Describes a text that neither goes on with the list or map above it nor ends it, at a line and column from 0: an item
// in another column than the others, or one without its dash. "" when it is neither.
std::string wrong_indentation(const Source& source, int line, int column);

}  // namespace neon
