#include "datasets/meant_dates.h"

#include <algorithm>
#include <array>
#include <vector>

#include "datasets/table_date.h"
#include "neon/core/text.h"

namespace neon {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// The runs of digits and of small letters in a text; none where anything but marks between them is left.
std::vector<std::string_view> runs_of(std::string_view text) {
  constexpr std::string_view kMarks = " ,-/.:+";
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto kind = is_digit(text[0]) ? is_digit : is_letter;
    const auto end = size_t(std::ranges::find_if_not(text, kind) - text.begin());
    if (end > 0) out.push_back(text.substr(0, end));
    else if (kMarks.find(text[0]) == kMarks.npos) return {};
    text.remove_prefix(std::max<size_t>(end, 1));
  }
  return out;
}

// Its name, or the first letters of it.
bool names_month(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMonths = {"january",   "february", "march",    "april",
                                                        "may",       "june",     "july",     "august",
                                                        "september", "october",  "november", "december"};
  return word.size() >= 3 &&
         std::ranges::any_of(kMonths, [&](std::string_view name) { return name.starts_with(word); });
}

bool stands_in_dates(std::string_view word) {
  constexpr std::array<std::string_view, 16> kOthers = {"mon", "tue", "wed", "thu", "fri", "sat", "sun", "st",
                                                        "nd",  "rd",  "th",  "am",  "pm",  "t",   "utc", "gmt"};
  return std::ranges::count(kOthers, word) > 0 || (word.size() >= 6 && word.ends_with("day"));
}

// "5 Jan 2024"
bool has_month(std::string_view small) {
  int months = 0, numbers = 0;
  for (const std::string_view run : runs_of(small)) {
    if (is_digit(run[0])) ++numbers;
    else if (names_month(run)) ++months;
    else if (!stands_in_dates(run)) return false;
  }
  return months == 1 && numbers > 0;
}

// "2024-05"
bool is_month(std::string_view cell) {
  return cell.size() == 7 && (cell[4] == '-' || cell[4] == '/') &&
         parse_date(std::string(cell) + cell[4] + "01", DateForm::year_first).found;
}

// "2024-05-31 14:05 CET"
bool begins_with_date(std::string_view cell) {
  const size_t end = cell.find_first_of(" T");
  return end != cell.npos && end + 1 < cell.size() && is_digit(cell[end + 1]) && seems_date(cell.substr(0, end));
}

bool has_form(std::string_view cell, auto&& is_so) {
  return std::ranges::any_of(std::array{DateForm::year_first, DateForm::day_first, DateForm::month_first},
                             [&](DateForm form) { return is_so(parse_date(cell, form)); });
}

}  // namespace

bool may_be_date(std::string_view cell) {
  return has_form(cell, [](const ParsedDate& date) { return date.found; });
}

bool seems_date(std::string_view cell) {
  return has_form(cell, [](const ParsedDate& date) { return date.found && !date.may_be_code; });
}

bool is_code(std::string_view cell) {
  if (cell.find_first_not_of("0123456789.-") != cell.npos || may_be_date(cell)) return false;
  const std::vector<std::string_view> runs = runs_of(cell);
  if (runs.size() != 3) return runs.size() > 3;
  const auto above = [](std::string_view run, int most) {
    return run.size() > 2 || std::stoi(std::string(run)) > most;
  };
  return above(runs[0], 31) || above(runs[1], 12) || (runs[2].size() != 2 && runs[2].size() != 4);
}

bool begins_with_late_day(std::string_view cell) {
  constexpr int kMonths = 12;
  return cell.find('.') < 3 && parse_date(cell, DateForm::day_first).found &&
         std::stoi(std::string(runs_of(lower(cell))[0])) > kMonths;
}

bool seems_other_date(std::string_view cell) {
  constexpr size_t kLongest = 40;
  if (cell.size() > kLongest || seems_date(cell)) return false;
  return is_month(cell) || begins_with_date(cell) || has_month(lower(cell));
}

std::string advice_for_date(std::string_view cell) {
  return text(in_quotes(cell), " seems to be a date; write dates as 2024-05-31, and times behind them as 14:05 or ",
              "14:05+02:00");
}

bool is_day_without_marks(std::string_view cell) {
  if (cell.size() != 8 || (!cell.starts_with("19") && !cell.starts_with("20"))) return false;
  return parse_date(text(cell.substr(0, 4), "-", cell.substr(4, 2), "-", cell.substr(6)), DateForm::year_first).found;
}

}  // namespace neon
