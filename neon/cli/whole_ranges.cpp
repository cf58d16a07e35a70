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

// The end of the message about the key, "expected an integer, found '9.2'"; "" where the key takes the number.
std::string refusal(const SearchRange& range, const std::string& path, const std::vector<std::string>& overrides,
                    std::map<std::string, std::string> values) {
  values[range.name] = number(fraction_in(range));
  try {
    (void)Experiment(load_spec(path, overrides, {values}).root);
  } catch (const Faults& faults) {
    for (const std::string& line : faults.lines())
      if (line.starts_with(range.where.to_string()) && line.find("expected an integer") != line.npos) return line;
  } catch (const Error&) {  // not about the number: the spec was read before, with another one
  }
  return "";
}

}  // namespace

void check_whole_ranges(const std::string& path, const std::vector<std::string>& overrides,
                        const std::map<std::string, std::string>& values, const std::vector<SearchRange>& checked,
                        const std::vector<SearchRange>& all) {
  Problems problems;
  for (const SearchRange& range : checked) {
    const bool fractions = range.kind == SearchRange::Kind::linear || range.kind == SearchRange::Kind::log;
    if (!fractions || range.low == range.high) continue;
    std::map<std::string, std::string> under = values_for(range, all);
    under.insert(values.begin(), values.end());
    if (refusal(range, path, overrides, under).empty()) continue;
    const bool is_log = range.kind == SearchRange::Kind::log;
    problems.add(range.where, "",
                 text("range ", range.name, ": ", is_log ? "log" : "linear",
                      " gives numbers with fractions, and the key takes whole ones; write int: [",
                      number(std::ceil(range.low)), ", ", number(std::floor(range.high)), "], or INT with !hyperopt"));
  }
  problems.throw_if_any();
}

}  // namespace neon
