// The command line of neon 1.x, and verbs beside it: neon [VERB] [OPTIONS] [SPEC].
#pragma once
#include <string>
#include <vector>

#include "neon/train/options.h"

namespace neon {

struct CommandLine {
  std::string verb = "train";
  std::vector<std::string> operands;   // SPEC, FILE, NAME
  std::vector<std::string> overrides;  // --set
  Setting run_options;                 // those of RunOptions that were given
  int verbose = 1;
  bool resolved = false;
  std::string format = "csv";  // of predictions
  int64_t top_k = 1, iterations = 200;
  RunOptions run() const { return read_params<RunOptions>(run_options); }
};

// Throws a config error with one clear line. `finished` is set when the line asked for help or the version,
// which is then in `text`.
CommandLine parse_command_line(std::vector<std::string> arguments, bool& finished, std::string& text);

const std::vector<std::string>& verbs();

}  // namespace neon
