// Images that the generator of an adversarial net makes.
#pragma once
#include <string>

#include "neon/cli/session.h"

namespace neon {

// Whether the net of a checkpoint has a generator.
bool makes_samples(const OpenedRun& opened);

// Draws --count images, or 64, on a sheet at `png`. Returns a line that says so. A config error for samples that are no
// images of 1 or 3 channels.
std::string draw_made_samples(const CommandLine& line, const OpenedRun& opened, const std::string& path,
                              const std::string& png);

}  // namespace neon
