// The space of a search: a coordinate for each range, in which steps of one length mean the same everywhere.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/spec/search_range.h"

namespace neon {

// A coordinate for each range: the number, of log ranges its natural logarithm, of choices the place of the option.
// Ranges that do not count have one, too.
using Point = std::vector<double>;
using Values = std::map<std::string, std::string>;  // by the names of ranges, as a spec takes them

class Space {
 public:
  explicit Space(std::vector<SearchRange> ranges) : ranges_(std::move(ranges)) {}

  const std::vector<SearchRange>& ranges() const { return ranges_; }
  size_t size() const { return ranges_.size(); }
  double lower(size_t k) const;
  double upper(size_t k) const;
  bool is_whole(size_t k) const;
  // Whether a range counts at a point: the choice that it stands in has its option there.
  bool counts(size_t k, const Point& point) const;
  // The values of those ranges that count.
  Values values(const Point& point) const;
  // Ranges without a value get the middle.
  Point point(const Values& values) const;

 private:
  std::vector<SearchRange> ranges_;
};

}  // namespace neon
