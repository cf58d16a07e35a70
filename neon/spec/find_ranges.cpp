// Finds the ranges of a document, and what is wrong with them.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "neon/core/message.h"
#include "neon/core/params.h"
#include "neon/spec/found_range.h"
#include "neon/spec/notation.h"

namespace neon {

namespace {

constexpr const char* kForms =
    "expected one of {log: [LOW, HIGH]}, {linear: [LOW, HIGH]}, {int: [LOW, HIGH]} and {choice: [OPTION, ...]}";

struct KindName {
  std::string_view name;
  SearchRange::Kind kind;
};
constexpr KindName kKinds[] = {{"linear", SearchRange::Kind::linear},
                               {"log", SearchRange::Kind::log},
                               {"int", SearchRange::Kind::integer},
                               {"choice", SearchRange::Kind::choice}};

bool is_number(const RawNode& node, double& out) {
  if (node.kind != Setting::Kind::scalar) return false;
  Setting scalar = Setting::scalar(node.value);
  scalar.quoted = node.quoted;
  return detail::read_real(scalar, out) && std::isfinite(out);
}

bool is_whole(double x) { return std::floor(x) == x; }

class RangeFinder {
 public:
  RangeFinder(const RawDocument& document, const Source& source, Problems& problems)
      : document_(document), source_(source), problems_(problems), visits_(document.nodes.size()) {}

  std::vector<FoundRange> find() {
    if (!document_.empty) walk(document_.root, "", {});
    return std::move(found_);
  }

 private:
  struct Condition {
    std::string parent;
    size_t option = 0;
  };

  const RawNode& node(uint32_t index) const { return document_.nodes[index]; }
  Location where(const RawNode& at) const { return source_.at(at.line, at.column); }
  void problem(const RawNode& at, const std::string& path, std::string message) {
    problems_.add(where(at), path, std::move(message));
  }

  // Aliases lead to nodes a second time. Ranges there count whatever is chosen.
  void walk(uint32_t index, const std::string& path, const Condition& condition, bool is_option = false) {
    if (++visits_[index] > 2) return;
    if (visits_[index] == 2)
      for (FoundRange& one : found_)
        if (one.node == index) one.range.parent = condition.parent == one.range.parent ? condition.parent : "";
    const RawNode at = node(index);
    if (at.tag == kOldRangeTag) return read_old(index, at, condition);
    if (at.kind == Setting::Kind::map && at.children.size() == 2 && node(at.children[0]).value == kRangeKey)
      return read(index, at, path, condition);
    const bool is_map = at.kind == Setting::Kind::map;
    for (size_t i = 0; i < at.children.size(); i += 1 + is_map) {
      if (!is_map) {
        walk(at.children[i], text(path, "[", i, "]"), condition);
        continue;
      }
      // A class's parameters have the path of the object; in an option the class tells them from those of others.
      const std::string& key = node(at.children[i]).value;
      const bool names_class = !path.empty() && !is_option && at.children.size() == 2 && is_class_name(key);
      walk(at.children[i + 1], names_class ? path : path.empty() ? key : text(path, ".", key), condition);
    }
  }

  void read_old(uint32_t index, const RawNode& at, const Condition& condition) {
    if (visits_[index] > 1) return;
    std::istringstream words(at.value);
    std::string name, type, more;
    double low = 0, high = 0;
    const bool numbers = bool(words >> name >> type >> low >> high) && !(words >> more);
    if (numbers && low > high)
      return problem(at, "", text("!hyperopt ", at.value, " ends before it starts; write the smaller number first"));
    if (!numbers || (type != "FLOAT" && type != "INT"))
      return problem(at, "", text("expected !hyperopt NAME FLOAT START END, or INT, found !hyperopt ", at.value));
    if (type == "INT" && (!is_whole(low) || !is_whole(high)))
      return problem(at, name,
                     text("INT has whole numbers as its ends, found !hyperopt ", at.value, "; FLOAT takes any"));
    const auto kind = type == "INT" ? SearchRange::Kind::integer : SearchRange::Kind::linear;
    add(index, {name, kind, low, high, {}, condition.parent, condition.option, where(at)}, {});
  }

  void read(uint32_t index, const RawNode& at, const std::string& path, const Condition& condition) {
    const RawNode body = node(at.children[1]);
    const bool first = visits_[index] == 1;
    std::string name = path;
    const KindName* kind = nullptr;
    uint32_t ends = 0;
    if (body.kind != Setting::Kind::map) return problem(at, path, text("a range of a search: ", kForms));
    for (size_t i = 0; i < body.children.size(); i += 2) {
      const RawNode &key = node(body.children[i]), &value = node(body.children[i + 1]);
      const auto* found = std::ranges::find(kKinds, key.value, &KindName::name);
      if (key.value == "name" && value.kind == Setting::Kind::scalar && !value.value.empty()) name = value.value;
      else if (found == std::end(kKinds) || kind)
        return problem(key, path,
                       text("a range of a search has no place for ", in_quotes(key.value), "; ", kForms,
                            ", beside it name: NAME"));
      else kind = found, ends = body.children[i + 1];
    }
    if (!kind) return problem(at, path, text("a range of a search: ", kForms));
    SearchRange range{name, kind->kind, 0, 0, {}, condition.parent, condition.option, where(at)};
    const RawNode list = node(ends);
    if (kind->kind == SearchRange::Kind::choice) return read_options(index, std::move(range), list, path, first);
    if (!first) return;
    if (list.kind != Setting::Kind::list || list.children.size() != 2 ||
        !is_number(node(list.children[0]), range.low) || !is_number(node(list.children[1]), range.high))
      return problem(list, path, text("expected two numbers, ", kind->name, ": [LOW, HIGH]"));
    if (range.low > range.high)
      return problem(
          list, path,
          text("the range begins with ", range.low, ", above its end ", range.high, "; write the lower number first"));
    if (kind->kind == SearchRange::Kind::log && range.low <= 0)
      return problem(list, path, text("a log range begins above 0, found ", range.low, "; linear takes any number"));
    if (kind->kind == SearchRange::Kind::integer && (!is_whole(range.low) || !is_whole(range.high)))
      return problem(list, path,
                     text("an int range has whole numbers as its ends, found ", range.low, " and ", range.high,
                          "; linear takes any number"));
    add(index, std::move(range), {});
  }

  void read_options(uint32_t index, SearchRange range, const RawNode& list, const std::string& path, bool first) {
    if (list.kind != Setting::Kind::list || list.children.empty())
      return problem(list, path, "a choice is a list of one option or more: choice: [OPTION, ...]");
    const std::string name = range.name;
    for (const uint32_t option : list.children) range.options.push_back(shown(option, 0));
    for (size_t i = 0; i < range.options.size(); ++i)
      if (std::ranges::count(range.options, range.options[i]) > 1 && first)
        return problem(list, path, text("the choice has the option ", in_quotes(range.options[i]), " twice"));
    range.options = labels(list, range.options);
    if (first) add(index, std::move(range), list.children);
    for (size_t i = 0; i < list.children.size(); ++i) walk(list.children[i], path, {name, i}, true);
  }

  // An option that is an object goes by its class, where no other option does.
  std::vector<std::string> labels(const RawNode& list, const std::vector<std::string>& whole) {
    std::vector<std::string> out;
    for (size_t i = 0; i < whole.size(); ++i) {
      const RawNode& option = node(list.children[i]);
      const bool object = option.kind == Setting::Kind::map && option.children.size() == 2;
      out.push_back(object ? node(option.children[0]).value : whole[i]);
    }
    const std::vector<std::string> classes = out;
    for (size_t i = 0; i < out.size(); ++i)
      if (std::ranges::count(classes, classes[i]) > 1) out[i] = whole[i];
    return out;
  }

  void add(uint32_t index, SearchRange range, std::vector<uint32_t> options) {
    found_.push_back({index, std::move(range), std::move(options)});
  }

  // A node as one line, cut where it is very long.
  std::string shown(uint32_t index, int depth) {
    const RawNode& at = node(index);
    if (depth > 16) return "...";
    if (at.kind == Setting::Kind::null) return "null";
    if (at.kind == Setting::Kind::scalar) {
      Setting scalar = Setting::scalar(at.value);
      scalar.quoted = at.quoted;
      return scalar.to_string();
    }
    const bool is_map = at.kind == Setting::Kind::map;
    std::string out(1, is_map ? '{' : '[');
    for (size_t i = 0; i < at.children.size() && out.size() < 400; ++i)
      out += (i == 0 ? "" : is_map && i % 2 ? ": " : ", ") + shown(at.children[i], depth + 1);
    return out + (is_map ? '}' : ']');
  }

  const RawDocument& document_;
  const Source& source_;
  Problems& problems_;
  std::vector<int> visits_;
  std::vector<FoundRange> found_;
};

}  // namespace

std::vector<FoundRange> find_ranges(const RawDocument& document, const Source& source, Problems& problems) {
  return RangeFinder(document, source, problems).find();
}

}  // namespace neon
