// Arguments in a form that has one meaning only, before options are told from operands.
#pragma once
#include <string>
#include <vector>

namespace neon {

// Long options get two dashes, and those whose value may be left out get one. What a file of options says (-c) comes
// first, so that the command line overrules it.
std::vector<std::string> clear_arguments(const std::vector<std::string>& arguments);

}  // namespace neon
