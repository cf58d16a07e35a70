// Parameters of a data set that --set may not change beside a checkpoint.
#pragma once
#include "neon/cli/session.h"

namespace neon {

// Throws where --set gives a parameter another value than the run's spec (`before`) has, and the checkpoint has what
// the parameter decides: columns, tokens, units of targets, the numbers of pixels. The net knows its samples so.
void check_kept_parameters(const OpenedRun& opened, const Setting& before);

// Throws where --set changes a parameter of the data set that neon predict does not heed (stored_data.h): it takes
// samples as the net was trained with them.
void check_heeded_by_predict(const OpenedRun& opened);

}  // namespace neon
