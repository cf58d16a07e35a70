// Dates in cells of tables: 2024-05-31, 2024/5/31, 31.5.2024, 5/31/2024, and behind them a time: 14:05, T14:05:09.5Z,
// 14:05+02:00, 2:05 PM, 14:05 UTC. Years of two digits are 1969 to 2068, as POSIX's strptime reads them. Days count
// from 1970-01-01 and have a fraction where there is a time.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace neon {

// The order of year, month and day.
enum class DateForm : uint8_t { year_first, day_first, month_first };
constexpr std::string_view name_of(DateForm form) {
  constexpr std::string_view kNames[] = {"year first", "day first", "month first"};
  return kNames[size_t(form)];
}

struct ParsedDate {
  bool found = false, timed = false;
  bool short_year = false;   // the year has two digits
  bool may_be_code = false;  // 2.4.13 is rather a version, 4-4-13 a code
  double days = 0;
};
ParsedDate parse_date(std::string_view cell, DateForm form);

// Places from 0 to below 1: in the year from January 1, in the week from Monday, in the day from midnight.
struct DatePlaces {
  double in_year, in_week, in_day;
};
DatePlaces places_of(double days);

// "2024-05-31"
std::string date_text(double days);

}  // namespace neon
