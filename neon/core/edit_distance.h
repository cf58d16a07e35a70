// How far two words are from each other.
#pragma once
#include <string_view>

namespace neon {

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// Whether `given` misspells `known` by one letter, or by two where `known` has eight or more. Swapped neighbours count
// as one letter. A part of a word does not count. Ignores letter case.
bool is_slip_of(std::string_view given, std::string_view known);

}  // namespace neon
