// Options that are unknown, without a value, or of another verb: one line that says so, what is near, and what to do.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/cli/option_tables.h"

namespace CLI {
class App;
}

namespace neon {

// Has CLI11 read the arguments; what it does not understand is a config error.
void parse(CLI::App& app, const std::vector<std::string>& arguments);

// To CLI11, -eval2 is -e with the value val2, and -save_path is -s with ave_path: refused.
void check_run_together(const CLI::App& app, const std::vector<std::string>& given);

// Refuses an option of another verb; `of`: which verb it is for.
[[noreturn]] void does_nothing(const char* flags, const std::string& verb, const std::string& of = "");
void check_verb(const VerbOption& option, const CommandLine& line);

}  // namespace neon
