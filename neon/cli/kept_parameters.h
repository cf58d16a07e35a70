// Parameters of a data set that --set may not change beside a checkpoint.
#pragma once
#include "neon/cli/session.h"

namespace neon {

// Throws where --set gives a parameter another value than the run's spec (`before`) has, and the checkpoint has what
// the parameter decides: columns, tokens, units of targets, the numbers of pixels. The net knows its samples so.
void check_kept_parameters(const OpenedRun& opened, const Setting& before);

// Throws where --set changes a key that the verb, eval, predict or sample, does not heed: one of training, or a
// parameter of the data set that neon predict does not read samples by (stored_data.h).
void check_heeded(const std::string& verb, const OpenedRun& opened);

// The same of neon eval for keys that part the training samples, where the run's test set is evaluated.
void check_split_heeded(const OpenedRun& opened);

}  // namespace neon
