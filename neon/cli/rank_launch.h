// -m N on one host: N processes train together, this one starts them and watches over them.
#pragma once
#include "neon/cli/command_line.h"

namespace neon {

// Whether the command is to start ranks, and is not one of them itself.
bool starts_ranks(const CommandLine& line);
// Runs the command as that many ranks. Returns the exit code of rank 0, or, where a rank has failed, that rank's; then
// one line on stderr names the rank and the reason.
int start_ranks(const CommandLine& line);

}  // namespace neon
