// What is wrong with a line that the parser stopped at, where lists and maps go by their columns.
#pragma once
#include <string>

#include "neon/spec/source.h"

namespace neon {

// Of the text at a line and column, from 0, that neither goes on with the list or map above it nor ends it: whether it
// is an item in another column than the others, or one without its dash. "" when it is neither.
std::string wrong_indentation(const Source& source, int line, int column);

}  // namespace neon
