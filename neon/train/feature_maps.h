// Sheets of what feature maps respond to, where GuidedBackprop asks for them.
#pragma once
#include <string>
#include <vector>

#include "neon/train/callback.h"
#include "neon/train/run_setup.h"

namespace neon {

// Where a callback asks for it, draws a sheet for each convolution with the net's weights as they are. Returns lines
// for the user: the files, or the reason that a sheet is missing.
std::vector<std::string> draw_feature_maps(const RunSetup& setup, const StepGraph& step, Variables& variables);

}  // namespace neon
