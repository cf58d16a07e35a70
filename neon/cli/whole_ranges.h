// Ranges of numbers with fractions where a key takes whole ones.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/spec/search_range.h"

namespace neon {

// Values of the choices under which a range counts.
std::map<std::string, std::string> values_for(const SearchRange& range, const std::vector<SearchRange>& all);

// Throws a config error for each linear or log range of `checked` in the place of a whole number: the middle may be
// one, but no trial of a search would be. `all` are the spec's ranges, `values` those that have one.
void check_whole_ranges(const std::string& path, const std::vector<Override>& overrides,
                        const std::map<std::string, std::string>& values, const std::vector<SearchRange>& checked,
                        const std::vector<SearchRange>& all);

}  // namespace neon
