// Which data a run began with, to tell at a resume whether they are the same.
#pragma once
#include <optional>
#include <string>

#include "datasets/dataset.h"

namespace neon {

// "96 training samples (5e6f7a8b), 40 test samples (12345678)": counts, and a checksum of types, shapes, values and
// scaling of either set. Where samples can be streamed: "(files 5e6f7a8b, values 1a2b3c4d)", with a checksum of
// Split::identity; of a set that is streamed without its values.
std::string fingerprint(const Data& data);

// Of two such lines, whether they are of the same data: by the values where both have them; lines of versions
// before streams have nothing else.
bool same_data(const std::string& one, const std::string& other);

// Of such a line, whether the training samples were streamed; none: they could not be.
std::optional<bool> was_streamed(const std::string& fingerprint);

}  // namespace neon
