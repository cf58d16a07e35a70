// The comments of a YAML file, which its parser passes over.
#pragma once
#include "neon/spec/conversion.h"
#include "neon/spec/raw.h"

namespace neon {

// Adds comments, each at the node that it stands beside, else at the next one behind it, and the anchors' names.
void collect_comments(const Source& source, const RawDocument& raw, Conversion& conversion);

// Block style as write_yaml, with remarks and comments above the lines that they are about, and with anchors where the
// same value stands twice. Lines about values that are gone stand at the top, comments of the older file at the end.
std::string write_converted(const Setting& root, const Conversion& conversion);

}  // namespace neon
