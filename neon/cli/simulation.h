// neon program --devices: the step on several devices, computed from its kernels' times on one.
#pragma once
#include "backends/ranks/step_timeline.h"
#include "neon/cli/command_line.h"

namespace neon {

// The links that the options describe. A config error where no option asks for several devices.
Links links_of(const CommandLine& line);

// A line for each exchange of a program: its kernel, bytes, and time over these links.
std::string exchange_lines(const Lowered& lowered, int devices, const Links& links);

// Times the step of one rank for each number of devices in --devices, and prints what all of them would need.
int run_simulation(const CommandLine& line);

}  // namespace neon
