// Texts of a table that are meant as dates, though neon does not read them.
#pragma once
#include <string>
#include <string_view>

namespace neon {

// Whether a text is a date in one of the forms of `DateForm`.
bool may_be_date(std::string_view cell);

// Whether it is one and no version, such as 2.4.13, and no code, such as 4-4-13.
bool seems_date(std::string_view cell);

// Whether it is numbers between dots or dashes that are no date, and no mistake in one: 2.14.3, 1.2.345, but
// not 31.2.13.
bool is_code(std::string_view cell);

// Whether it is a date with dots, and begins with 13 to 31, which is rare in versions: 28.4.13.
bool begins_with_late_day(std::string_view cell);

// Whether another text seems to be one: "5 Jan 2024", "Jan-24", "2024-05", "2024-05-31 14:05 CET".
bool seems_other_date(std::string_view cell);

// "'5 Jan 2024' seems to be a date; write dates as 2024-05-31"
std::string advice_for_date(std::string_view cell);

// Whether a cell is a day of 1900 to 2099 without marks, as 20240531.
bool is_day_without_marks(std::string_view cell);

}  // namespace neon
