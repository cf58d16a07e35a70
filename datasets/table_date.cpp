#include "datasets/table_date.h"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace neon {

namespace {

using namespace std::chrono;

// Reads a date from the front of a text.
class DateScanner {
 public:
  explicit DateScanner(std::string_view rest) : rest_(rest) {}
  bool at_end() const { return rest_.empty(); }
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool take(char c) {
    if (next() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A word in any letter case; `word` is in small letters.
  bool take_word(std::string_view word) {
    if (rest_.size() < word.size()) return false;
    for (size_t i = 0; i < word.size(); ++i)
      if ((rest_[i] | 0x20) != word[i]) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // A number of `least` to `most` digits.
  bool number(size_t least, size_t most, int& out) {
    size_t count = 0;
    for (out = 0; count < most && count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count)
      out = 10 * out + (rest_[count] - '0');
    rest_.remove_prefix(count);
    return count >= least;
  }
  // One of one or two digits; `is_single` becomes true where it has one.
  bool day_or_month(int& out, bool& is_single) {
    const size_t before = rest_.size();
    const bool found = number(1, 2, out);
    is_single = is_single || before - rest_.size() == 1;
    return found;
  }
  // A year of four digits, or of two, for which POSIX has 69 mean 1969, and 68 mean 2068.
  bool year(int& out, bool& is_short) {
    const size_t before = rest_.size();
    number(0, 4, out);
    const size_t digits = before - rest_.size();
    is_short = digits == 2;
    if (is_short) out += out < 69 ? 2000 : 1900;
    return digits == 4 || is_short;
  }
  // The digits behind a decimal point, as a share of 1.
  bool fraction(double& out) {
    double unit = 0.1;
    bool any = false;
    for (out = 0; next() >= '0' && next() <= '9'; rest_.remove_prefix(1), unit /= 10, any = true)
      out += unit * (next() - '0');
    return any;
  }

 private:
  std::string_view rest_;
};

bool scan_day(DateScanner& in, DateForm form, ParsedDate& out) {
  int parts[3] = {};
  const bool year_first = form == DateForm::year_first;
  bool is_short = false, is_single = false;
  if (year_first ? !in.year(parts[0], is_short) : !in.day_or_month(parts[0], is_single)) return false;
  const char separator = in.next();
  if (separator != '-' && separator != '/' && separator != '.') return false;
  in.take(separator);
  if (!in.day_or_month(parts[1], is_single) || !in.take(separator)) return false;
  if (year_first ? !in.day_or_month(parts[2], is_single) : !in.year(parts[2], is_short)) return false;
  out.short_year = is_short;
  out.may_be_code = is_short && is_single && separator != '/';
  // Nobody writes these with dots: 20.01.23 begins with the day.
  if (separator == '.' && (form == DateForm::month_first || (year_first && is_short))) return false;
  const int at_year = year_first ? 0 : 2, at_month = form == DateForm::month_first ? 0 : 1;
  const year_month_day date(year(parts[at_year]), month(unsigned(parts[at_month])),
                            day(unsigned(parts[3 - at_year - at_month])));
  out.days = date.ok() ? double(sys_days(date).time_since_epoch().count()) : 0;
  return date.ok();
}

// The hours of a day by those of a half, 12 to 11, and "AM" or "PM" behind them; as they are without these.
bool take_half(DateScanner& in, int& hours) {
  DateScanner behind = in;
  behind.take(' ');
  for (const bool after_noon : {false, true}) {
    if (!behind.take_word(after_noon ? "pm" : "am")) continue;
    if (hours < 1 || hours > 12) return false;
    hours = hours % 12 + (after_noon ? 12 : 0);
    in = behind;
    break;
  }
  return true;
}

// "Z", "UTC", "GMT", or nothing.
bool take_greenwich(DateScanner& in) {
  DateScanner behind = in;
  behind.take(' ');
  if (!behind.take_word("utc") && !behind.take_word("gmt")) return in.take_word("z");
  in = behind;
  return true;
}

// A time, and a zone behind it, as a share of a day.
bool scan_time(DateScanner& in, double& share) {
  int hours = 0, minutes = 0, seconds = 0;
  double fraction = 0;
  if (!in.number(1, 2, hours) || !in.take(':') || !in.number(2, 2, minutes)) return false;
  if (in.take(':') && (!in.number(2, 2, seconds) || (in.take('.') && !in.fraction(fraction)))) return false;
  if (!take_half(in, hours) || hours > 23 || minutes > 59 || seconds > 60) return false;
  double zone = 0;
  const bool greenwich = take_greenwich(in);
  DateScanner behind = in;
  behind.take(' ');
  if (!greenwich && (behind.next() == '+' || behind.next() == '-')) {
    in = behind;
    const bool east = in.take('+');
    int zone_hours = 0, zone_minutes = 0;
    if (!east) in.take('-');
    if (!in.number(2, 2, zone_hours)) return false;
    in.take(':');
    if (!in.at_end() && !in.number(2, 2, zone_minutes)) return false;
    if (zone_hours > 23 || zone_minutes > 59) return false;
    zone = (east ? 60 : -60) * (zone_hours * 60.0 + zone_minutes);
  }
  share = (hours * 3600.0 + minutes * 60 + seconds + fraction - zone) / 86400;
  return true;
}

}  // namespace

ParsedDate parse_date(std::string_view cell, DateForm form) {
  DateScanner in(cell);
  ParsedDate out;
  if (!scan_day(in, form, out)) return {};
  if (!in.at_end()) {
    double share = 0;
    if (!(in.take('T') || in.take(' ')) || !scan_time(in, share) || !in.at_end()) return {};
    out.timed = true, out.may_be_code = false;
    out.days += share;
  }
  out.found = true;
  return out;
}

DatePlaces places_of(double days) {
  const double whole = std::floor(days);
  const sys_days point{std::chrono::days(int64_t(whole))};
  const year_month_day date(point);
  const sys_days begin = date.year() / January / 1, end = (date.year() + years(1)) / January / 1;
  const double since = double((point - begin).count()) + (days - whole);
  return {since / double((end - begin).count()), (double(weekday(point).iso_encoding() - 1) + (days - whole)) / 7,
          days - whole};
}

std::string date_text(double days) {
  const year_month_day date(sys_days{std::chrono::days(int64_t(std::floor(days)))});
  char out[32];
  std::snprintf(out, sizeof out, "%04d-%02u-%02u", int(date.year()), unsigned(date.month()), unsigned(date.day()));
  return out;
}

}  // namespace neon
