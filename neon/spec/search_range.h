// Ranges for a search, in the place of any value of a spec:
//
//   learning_rate: {search: {log: [1e-4, 1e-1]}}      also linear: [LOW, HIGH] and int: [LOW, HIGH]
//   activation: {search: {choice: [Tanh, Rectlin]}}   an option may hold ranges; they count where it is chosen
//   nout: {search: {int: [10, 100], name: units}}     without a name a range has its path: layers[0].nout
//   learning_rate: !hyperopt lr FLOAT 0.01 0.1        as neon 0.9 writes a range, or INT
//
// A range that has an anchor has one value, also where aliases stand for it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "neon/core/setting.h"
#include "neon/spec/raw.h"

namespace neon {

struct SearchRange {
  enum class Kind { linear, log, integer, choice };
  std::string name;
  Kind kind = Kind::linear;
  double low = 0, high = 0;          // of numbers
  std::vector<std::string> options;  // of a choice, by their classes or as one line of YAML
  std::string parent;                // the choice in whose option it stands; "" for a range that always counts
  size_t option = 0;                 // the place of that option among the choice's
  Location where;
  // The value of a run that does not search: the mean, of log the geometric one; the first option.
  std::string middle() const;
};

// Tells a reader of a spec how to treat ranges.
struct RangeUse {
  std::map<std::string, std::string> values = {};  // by name; other ranges get their middle, with a warning
  bool keep = false;                               // leaves the ranges in the spec instead
};

// The ranges of a document, in the order of the file; values have taken their places. Problems are added for ranges
// that are wrong, for values outside of them and for values of no range.
struct FoundRanges {
  std::vector<SearchRange> ranges;
  std::vector<SearchRange> unset;  // those that count, and got their middle
};
FoundRanges settle_ranges(RawDocument& document, const Source& source, const RangeUse& use, Problems& problems);

// Whether a range stands anywhere under the setting.
bool has_range(const Setting& setting);

}  // namespace neon
