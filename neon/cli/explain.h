// neon check SPEC --explain KEY: the value of a key, and the place that it comes from.
#pragma once
#include "neon/cli/command_line.h"

namespace neon {

// Prints "optimizer.learning_rate: 0.1  (s.yaml:7:20)". KEY is a path as --set takes it, `all` for a line for each key,
// or `keys` for their names alone. Throws a config error where the spec has no such key. Returns the exit code.
int print_explained(const CommandLine& line);

}  // namespace neon
