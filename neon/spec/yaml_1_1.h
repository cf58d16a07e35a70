// Numbers as YAML 1.1 writes them, which the older neons read: octal with a leading 0, hexadecimal, binary, of base 60
// with colons, and underscores between digits.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/spec/conversion.h"
#include "neon/spec/raw.h"

namespace neon {

// The number in decimal digits, "" for a text that YAML 1.2 reads alike or that is no number: "010" is "8".
std::string decimal_of_yaml_1_1(std::string_view value);

// Writes such numbers of a file of neon 0.9, or of 1.x, in decimal digits; a line says each.
void convert_numbers(RawDocument& raw, const Source& source, Conversion& conversion);
void convert_numbers(Setting& setting, std::vector<std::string>& notes);

}  // namespace neon
