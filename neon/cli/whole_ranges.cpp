#include "neon/cli/whole_ranges.h"

#include <algorithm>
#include <cmath>

#include "neon/core/message.h"
#include "neon/core/params.h"
#include "neon/spec/spec.h"
#include "neon/train/experiment.h"

namespace neon {

std::map<std::string, std::string> values_for(const SearchRange& range, const std::vector<SearchRange>& all) {
  std::map<std::string, std::string> out;
  const SearchRange* at = &range;
  while (!at->parent.empty()) {
    const auto parent = std::ranges::find(all, at->parent, &SearchRange::name);
    if (parent == all.end()) break;
    out[parent->name] = parent->options[at->option];
    at = &*parent;
  }
  return out;
}

namespace {

// A number of the range that is not whole, as most that a search draws.
double fraction_in(const SearchRange& range) {
  const double out = range.low + (range.high - range.low) / std::sqrt(5);
  return out == std::floor(out) ? (out + range.high) / 2 : out;
}

// Whether a key refuses the number because it is not whole.
bool is_refused(const SearchRange& range, const std::string& path, const std::vector<Override>& overrides,
                std::map<std::string, std::string> values) {
  const std::string fraction = number(fraction_in(range));
  values[range.name] = fraction;
  const std::string wanted = text("expected an integer, found ", in_quotes(fraction));
  try {
    (void)Experiment(load_spec(path, overrides, {values}).root);
  } catch (const Faults& faults) {
    return std::ranges::any_of(faults.lines(), [&](const auto& line) { return line.find(wanted) != line.npos; });
  } catch (const Error&) {  // of something else, which whoever reads the spec will find
  }
  return false;
}

}  // namespace

void check_whole_ranges(const std::string& path, const std::vector<Override>& overrides,
                        const std::map<std::string, std::string>& values, const std::vector<SearchRange>& checked,
                        const std::vector<SearchRange>& all) {
  Problems problems;
  for (const SearchRange& range : checked) {
    const bool fractions = range.kind == SearchRange::Kind::linear || range.kind == SearchRange::Kind::log;
    if (!fractions || range.low == range.high) continue;
    std::map<std::string, std::string> under = values_for(range, all);
    under.insert(values.begin(), values.end());
    if (!is_refused(range, path, overrides, under)) continue;
    const bool is_log = range.kind == SearchRange::Kind::log;
    problems.add(range.where, "",
                 text("range ", range.name, ": ", is_log ? "log" : "linear",
                      " gives numbers with fractions, and the key takes whole ones; write int: [",
                      number(std::ceil(range.low)), ", ", number(std::floor(range.high)), "], or INT with !hyperopt"));
  }
  problems.throw_if_any();
}

}  // namespace neon
