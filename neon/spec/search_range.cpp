#include "neon/spec/search_range.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "neon/core/message.h"
#include "neon/core/params.h"
#include "neon/spec/found_range.h"

namespace neon {

namespace {

class RangeSettler {
 public:
  RangeSettler(RawDocument& document, const Source& source, const RangeUse& use, Problems& problems)
      : document_(document), source_(source), use_(use), problems_(problems) {}

  FoundRanges settle() {
    const size_t before = problems_.lines().size();
    found_ = find_ranges(document_, source_, problems_);
    check_names();
    FoundRanges out;
    for (const FoundRange& one : found_)
      if (&one == first_of(one.range.name)) out.ranges.push_back(one.range);
    if (problems_.lines().size() > before) return out;
    if (use_.keep) {
      for (const FoundRange& one : found_)
        if (document_.nodes[one.node].tag == kOldRangeTag) write_native(one);
      return out;
    }
    out.unset = unset();
    // An option's own ranges are settled before the option is copied to the choice's place.
    for (auto one = found_.rbegin(); one != found_.rend(); ++one) replace(*one);
    return out;
  }

 private:
  void check_names() {
    std::set<std::string> names;
    for (const FoundRange& one : found_)
      if (!names.insert(one.range.name).second && !is_same(*first_of(one.range.name), one))
        problems_.add(one.range.where, "",
                      text("a second range, of other ends, is called ", in_quotes(one.range.name),
                           "; give it another name beside its ends: name: NAME"));
    const std::vector<std::string> all(names.begin(), names.end());
    for (const auto& [name, value] : use_.values)
      if (!names.contains(name))
        problems_.add(source_.whole(), "",
                      text("no range of a search is called ", in_quotes(name), did_you_mean(name, all),
                           all.empty() ? "; the spec has none" : text(" (ranges: ", list_text(all), ")")));
    for (const FoundRange& one : found_)
      if (const auto value = use_.values.find(one.range.name); value != use_.values.end())
        check_value(one.range, value->second);
  }

  const FoundRange* first_of(const std::string& name) const {
    return &*std::ranges::find_if(found_, [&](const FoundRange& one) { return one.range.name == name; });
  }

  // One range that stands in several places. Options have places of their own.
  static bool is_same(const FoundRange& one, const FoundRange& other) {
    const SearchRange &a = one.range, &b = other.range;
    return a.kind == b.kind && a.kind != SearchRange::Kind::choice && a.low == b.low && a.high == b.high &&
           a.parent.empty() && b.parent.empty();
  }

  void check_value(const SearchRange& range, const std::string& value) {
    if (range.kind == SearchRange::Kind::choice) {
      if (!std::ranges::count(range.options, value))
        problems_.add(range.where, range.name,
                      text(in_quotes(value), " is not an option", did_you_mean(value, range.options),
                           " (options: ", list_text(range.options), ")"));
      return;
    }
    double number = 0;
    const bool whole = range.kind == SearchRange::Kind::integer;
    if (!detail::read_real(Setting::scalar(value), number) || !(number >= range.low && number <= range.high) ||
        (whole && std::floor(number) != number))
      problems_.add(range.where, range.name,
                    text(in_quotes(value), " is outside the range: expected ", whole ? "a whole number" : "a number",
                         " from ", range.low, " to ", range.high));
  }

  std::string value_of(const SearchRange& range) const {
    const auto given = use_.values.find(range.name);
    return given == use_.values.end() ? range.middle() : given->second;
  }
  size_t option_of(const SearchRange& range) const {
    return size_t(std::ranges::find(range.options, value_of(range)) - range.options.begin());
  }

  std::vector<SearchRange> unset() const {
    std::vector<SearchRange> out;
    std::map<std::string, size_t> chosen;
    for (const FoundRange& found : found_) {
      const SearchRange& range = found.range;
      if (&found != first_of(range.name)) continue;
      const auto parent = chosen.find(range.parent);
      if (!range.parent.empty() && (parent == chosen.end() || parent->second != range.option)) continue;
      if (range.kind == SearchRange::Kind::choice) chosen[range.name] = option_of(range);
      if (!use_.values.contains(range.name)) out.push_back(range);
    }
    return out;
  }

  void replace(const FoundRange& found) {
    RawNode& at = document_.nodes[found.node];
    RawNode value;
    value.kind = Setting::Kind::scalar;
    if (found.range.kind == SearchRange::Kind::choice) value = document_.nodes[found.options[option_of(found.range)]];
    else value.value = value_of(found.range);
    value.anchor = at.anchor;
    value.line = at.line, value.column = at.column;
    at = std::move(value);
  }

  uint32_t add_node(const RawNode& place, Setting::Kind kind, std::string value, std::vector<uint32_t> children = {}) {
    RawNode made;
    made.kind = kind;
    made.value = std::move(value);
    made.children = std::move(children);
    made.line = place.line, made.column = place.column;
    document_.nodes.push_back(std::move(made));
    return uint32_t(document_.nodes.size() - 1);
  }

  // {search: {linear: [LOW, HIGH], name: NAME}}
  void write_native(const FoundRange& found) {
    using enum Setting::Kind;
    RawNode range = document_.nodes[found.node];
    const auto word = [&](std::string value) { return add_node(range, scalar, std::move(value)); };
    const SearchRange& of = found.range;
    const uint32_t ends = add_node(range, list, "", {word(number(of.low)), word(number(of.high))});
    const std::string kind = of.kind == SearchRange::Kind::integer ? "int" : "linear";
    const uint32_t body = add_node(range, map, "", {word(kind), ends, word("name"), word(of.name)});
    range.children = {word(std::string(kRangeKey)), body};
    range.kind = map;
    range.quoted = false;
    range.tag.clear(), range.value.clear();
    document_.nodes[found.node] = std::move(range);
  }

  RawDocument& document_;
  const Source& source_;
  const RangeUse& use_;
  Problems& problems_;
  std::vector<FoundRange> found_;
};

}  // namespace

std::string SearchRange::middle() const {
  switch (kind) {
    case Kind::linear: return number((low + high) / 2);
    case Kind::log: return number(low == high ? low : std::sqrt(low * high));
    case Kind::integer: return number(std::floor((low + high) / 2));
    case Kind::choice: return options.front();
  }
  return "";
}

FoundRanges settle_ranges(RawDocument& document, const Source& source, const RangeUse& use, Problems& problems) {
  return RangeSettler(document, source, use, problems).settle();
}

bool has_range(const Setting& setting) {
  if (setting.is_map() && setting.entries.size() == 1 && setting.entries[0].key == kRangeKey) return true;
  return std::ranges::any_of(setting.items, has_range) ||
         std::ranges::any_of(setting.entries, has_range, &Setting::Entry::value);
}

}  // namespace neon
