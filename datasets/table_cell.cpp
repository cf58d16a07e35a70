#include "datasets/table_cell.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

char small(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

// Reads 1 to 15 digits with at most one point, as most numbers have, in a third of the time of std::from_chars. Whole
// numbers and powers of ten below 10^15 are exact in f64, so that their quotient is rounded once, as there.
bool parse_short_number(std::string_view cell, double& out) {
  constexpr double kPowers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr int kMost = 15;
  const bool negative = cell.starts_with('-');
  if (cell.size() > kMost + 2) return false;
  int64_t digits = 0;
  int count = 0, behind = 0;
  bool point = false;
  for (const char c : cell.substr(size_t(negative))) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return false;
    digits = 10 * digits + (c - '0');
    ++count, behind += int(point);
  }
  if (count < 1 || count > kMost) return false;
  const double value = double(digits) / kPowers[behind];
  out = negative ? -value : value;
  return true;
}

}  // namespace

MissingMarks::MissingMarks(const std::vector<std::string>& marks) {
  for (const std::string& mark : marks) {
    if (mark.empty()) continue;  // the empty cell is missing in any case
    marks_.push_back(lower(mark));
    longest_ = std::max(longest_, mark.size());
    begins_[uint8_t(small(mark[0]))] = true;
  }
}

bool MissingMarks::contains(std::string_view cell) const {
  if (cell.empty()) return true;
  if (cell.size() > longest_ || !begins_[uint8_t(small(cell[0]))]) return false;
  return std::ranges::find(marks_, lower(cell)) != marks_.end();
}

CellKind kind_of(std::string_view cell, const MissingMarks& missing, char decimal) {
  if (missing.contains(cell)) return CellKind::missing;
  double value = 0;
  return parse_number(cell, value, decimal) ? CellKind::number : CellKind::text;
}

bool parse_number(std::string_view cell, double& out, char decimal) {
  if (decimal == ',') {
    std::string own(cell);
    const size_t comma = own.find(',');
    if (own.find('.') != own.npos) return false;
    if (comma != own.npos) own[comma] = '.';
    return parse_number(own, out);
  }
  const bool signed_plus = cell.starts_with('+');
  if (signed_plus) cell.remove_prefix(1);
  if (cell.empty() || (signed_plus && cell.starts_with('-'))) return false;
  if (parse_short_number(cell, out)) return true;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), out);
  if (error == std::errc::invalid_argument || end != cell.data() + cell.size()) return false;
  // from_chars does not say whether such a number is too large or too small.
  if (error == std::errc::result_out_of_range) out = std::strtod(std::string(cell).c_str(), nullptr);
  return !std::isnan(out);
}

void check_test_part(const std::string& test) {
  double part = 0;
  if (parse_number(test, part) && !(part >= 0 && part < 1))
    fail(ErrorKind::config, "test: ", test, " is neither a file nor a share from 0 to below 1");
}

bool parse_f32(std::string_view cell, double& out, char decimal) {
  return parse_number(cell, out, decimal) && std::isfinite(float(out));
}

std::string no_f32_text(std::string_view cell, const MissingMarks& missing, std::string_view advice) {
  double value = 0;
  if (parse_number(cell, value) && std::isinf(float(value)))
    return text("expected a number up to f32's largest, 3.4e38, found ", in_quotes(cell));
  return text("expected a number, found ", in_quotes(cell),
              missing.contains(cell) ? "; fill in or remove rows with missing values" : advice);
}

}  // namespace neon
