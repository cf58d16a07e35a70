// Options that are unknown, without a value, or of another verb: one line with the nearest name and how to mend it.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/options.h"
#include "neon/cli/verb.h"

namespace CLI {
class App;
}

namespace neon {

// Lets CLI11 read the arguments; anything it refuses is a config error.
void parse(CLI::App& app, const std::vector<std::string>& arguments);

// The spec of neon 0.9's `neon -c SPEC`, where -c had no value: refused where a verb has no other spec.
void refuse_spec_as_options(const std::string& file, const CommandLine& line);

// To CLI11, -eval2 is -e with the value val2, and -save_path is -s with ave_path: refused.
void check_run_together(const CLI::App& app, const std::vector<std::string>& given);

// Refuses an option that asks for several devices, of a verb that does not take them.
[[noreturn]] void refuse_devices(std::string_view option, const Verb& verb);

// Refuses an option that the verb does not take.
[[noreturn]] void does_nothing(const Option& option, const Verb& verb);

}  // namespace neon
