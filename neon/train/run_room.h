// Whether a run fits in memory.
#pragma once
#include <string>

#include "neon/train/phase.h"

namespace neon {

// Throws a memory error where weights and a step take more than is free on the host. The system gives memory only when
// it is first touched, and ends a process that touches more than there is.
void check_room(const Program& program, const Variables& variables);

// The end of an error for a run that a GPU has no room for: what it takes, and the batch that would fit. Everything of
// the run on the GPU must be gone by now.
std::string gpu_room_text(const RunSetup& setup, const Phase& phase, const DeviceOptions& device);

}  // namespace neon
