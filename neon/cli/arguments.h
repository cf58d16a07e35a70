// Arguments in a form that has one meaning only, before options and operands are parted.
#pragma once
#include <string>
#include <vector>

#include "neon/core/setting.h"

namespace neon {

// By its name.
bool is_spec(const std::string& path);

// The option of a run that --set PATH=VALUE gives as well, as epochs=3 does --epochs; no field where no option does.
struct SetOption {
  std::string field, value;
};
SetOption option_set_by(const std::string& assignment);

// Long options get two dashes, and those whose value may be left out get one.
std::vector<std::string> clear_arguments(const std::vector<std::string>& arguments);

// f16, f32 or f64 for the names that NumPy gives these types, as older neons took them: np.float16, numpy.float32,
// float64. Any other value is left as it is.
std::string datatype_value(const std::string& value);

// Turns a config file of neon 1.x into such arguments: `key = value`, `key: value` or `key` a line, the value bare
// or in quotes; # and ; begin comments.
struct ConfigLine {
  Location where;
  std::vector<std::string> arguments;
};
std::vector<ConfigLine> config_lines(const std::string& path);

}  // namespace neon
