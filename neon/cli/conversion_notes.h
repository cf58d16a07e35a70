// Notes and warnings about a file of an older neon.
#pragma once
#include <string>

#include "neon/cli/verb.h"
#include "neon/spec/spec.h"

namespace neon {

// Whether the options of a run ask for -u 1 beside a file of neon 0.9, which switched stochastic rounding on; here the
// number is that of bits.
bool means_rounding_on(const Setting& options, const std::string& notation);
// With -v all decisions of the translator, else its warnings and where to read more.
void print_conversion_notes(const CommandLine& line, const std::string& path, const Spec& spec);

}  // namespace neon
