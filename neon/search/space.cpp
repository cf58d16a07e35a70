#include "neon/search/space.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "neon/core/params.h"

namespace neon {

namespace {

using Kind = SearchRange::Kind;

// Six digits are more than a search tells apart.
std::string short_number(double x, const SearchRange& range) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", x);
  double out = x;
  detail::read_real(Setting::scalar(digits), out);
  return number(std::clamp(out, range.low, range.high));
}

}  // namespace

double Space::lower(size_t k) const {
  const SearchRange& range = ranges_[k];
  return range.kind == Kind::choice ? 0 : range.kind == Kind::log ? std::log(range.low) : range.low;
}

double Space::upper(size_t k) const {
  const SearchRange& range = ranges_[k];
  return range.kind == Kind::choice ? double(range.options.size()) - 1
         : range.kind == Kind::log  ? std::log(range.high)
                                    : range.high;
}

bool Space::is_whole(size_t k) const { return ranges_[k].kind == Kind::choice || ranges_[k].kind == Kind::integer; }

bool Space::counts(size_t k, const Point& point) const {
  if (ranges_[k].parent.empty()) return true;
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].name == ranges_[k].parent) return size_t(point[i]) == ranges_[k].option && counts(i, point);
  return true;
}

Values Space::values(const Point& point) const {
  Values out;
  for (size_t k = 0; k < ranges_.size(); ++k) {
    if (!counts(k, point)) continue;
    const SearchRange& range = ranges_[k];
    switch (range.kind) {
      case Kind::linear: out[range.name] = short_number(point[k], range); break;
      case Kind::log: out[range.name] = short_number(std::exp(point[k]), range); break;
      case Kind::integer: out[range.name] = number(point[k]); break;
      case Kind::choice: out[range.name] = range.options[size_t(point[k])]; break;
    }
  }
  return out;
}

Point Space::point(const Values& values) const {
  Point out;
  for (const SearchRange& range : ranges_) {
    const auto given = values.find(range.name);
    const std::string value = given == values.end() ? range.middle() : given->second;
    double x = range.low;
    if (range.kind == Kind::choice) x = double(std::ranges::find(range.options, value) - range.options.begin());
    else detail::read_real(Setting::scalar(value), x);
    out.push_back(range.kind == Kind::log ? std::log(x) : x);
  }
  return out;
}

}  // namespace neon
