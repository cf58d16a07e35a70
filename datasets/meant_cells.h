// Texts of a table that are meant as numbers, though neon does not read them; and names that are meant alike.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// Whether a text, which is no number as neon reads them, seems to be one: "1,200", "1.200,50", "$5", "12 %", "1'000".
bool seems_number(std::string_view cell);

// "'1,200' seems to be a number; write digits with a decimal point alone, as in 1234.5"
std::string advice_for_number(std::string_view cell, char decimal = '.');

// The unit of a text that is a number with one, as "kg" of "21 kg", or ":" of a duration, as 2:33:10; else "".
std::string unit_of(std::string_view cell);
// "'21 kg' seems to be a number with a unit; write the number alone, as 21, and the unit into the column's name"
std::string advice_for_unit(std::string_view cell, std::string_view unit);

// Names that differ in letter case, in spaces, or in how letters with marks are written, as "'Yes' and 'yes' are two
// classes"; "" without any. Single characters do not count: a class may be a letter.
std::string alike_names(const std::vector<std::string>& names, const std::string& things);
// The first of the names that differs from this one in that way alone; "" without one.
std::string alike_name(std::string_view name, const std::vector<std::string>& names);

}  // namespace neon
