#include "neon/spec/repeat.h"

#include <algorithm>

#include "neon/core/registry.h"

namespace neon {

namespace {

struct Repeat {
  int times = 1;
  Setting layers;
  static void describe(auto&& p) {
    p("times", &Repeat::times, "Number of copies.", Required{}, closed(0, 10000));
    p("layers", &Repeat::layers, "List of layers.", Required{});
  }
};

const EntryInfo kRepeat{
    "Repeat",
    "Several copies of some layers, one after the other; NAME of a layer becomes NAME_1, NAME_2 ...",
    {},
    schema_of<Repeat>};
[[maybe_unused]] const bool kListed = (add_form("layer", &kRepeat), true);

bool is_repeat(const Setting& item) {
  return item.is_map() && item.entries.size() == 1 && item.entries[0].key == "Repeat";
}

Repeat repeat_of(const Setting& item, Problems& problems) {
  Setting params = item.entries[0].value;
  // A lone number would go to the first parameter and hide what is missing.
  if (!params.is_map()) {
    problems.add(item, text("expected Repeat: {times: N, layers: [...]}, found ", params.describe()));
    return {};
  }
  Repeat out = read_params<Repeat>(params, problems);
  if (!out.layers.is_list() && params.find("layers"))
    problems.add(*params.find("layers"), text("expected a list of layers, found ", out.layers.describe()));
  return out;
}

// The size that a setting grows to; as double, since it may be far past any integer.
struct Size {
  double nodes = 1, text = 0;
  void add(const Size& other, double times) {
    nodes += times * other.nodes;
    text += times * other.text;
  }
};

// Overrides and the rewriting of older notations may have made the tree deeper and its keys longer than what was
// read; what passes here can be written and read again.
class Checker {
 public:
  Checker(const YamlLimits& limits, Problems& problems) : limits_(limits), problems_(problems) {}

  Size check(const Setting& setting, int depth = 0) {
    Size out;
    out.text = double(setting.value.size() + setting.path.size());
    if (depth > limits_.depth) {
      problems_.add(setting, text("lists and maps stand more than ", limits_.depth, " deep in one another"));
      return out;
    }
    add_items(setting, depth, 1, out);
    for (const auto& entry : setting.entries) {
      if (is_repeat(entry.value)) problems_.add(entry.value, "Repeat stands here alone; it must be an item of a list");
      if (entry.key.size() > limits_.key)
        problems_.add(entry.where, setting.path, text("a key is longer than ", limits_.key, " bytes"));
      out.text += double(entry.key.size());
      out.add(check(entry.value, depth + 1), 1);
    }
    return out;
  }

 private:
  void add_items(const Setting& list, int depth, double times, Size& out) {
    for (const Setting& item : list.items) {
      if (item.is_scalar() && !item.quoted && item.value == "Repeat")
        problems_.add(item, "expected Repeat: {times: N, layers: [...]}, found the bare name");
      out.add(is_repeat(item) ? repeated(item, depth) : check(item, depth + 1), times);
    }
  }

  // The size of its layers, which replace the Repeat in its list.
  Size repeated(const Setting& item, int depth) {
    const Repeat repeat = repeat_of(item, problems_);
    Size out{0, 0};
    if (depth <= limits_.depth) add_items(repeat.layers, depth, std::max(repeat.times, 0), out);
    if (out.nodes <= limits_.nodes && out.text <= double(limits_.text)) return out;
    problems_.add(item, text("repeated ", repeat.times, " times this makes ",
                             out.nodes > limits_.nodes
                                 ? text(out.nodes, " values; at most ", limits_.nodes)
                                 : text(bytes_text(out.text), " of text; at most ", bytes_text(double(limits_.text))),
                             " are allowed"));
    return {};
  }

  const YamlLimits& limits_;
  Problems& problems_;
};

// The names of the layers of one copy, and what is added to them.
struct Scope {
  std::vector<std::string> names;
  std::string suffix;  // of this and all outer copies
};

void collect_names(const Setting& setting, std::vector<std::string>& out) {
  for (const Setting& item : setting.items)
    if (!is_repeat(item)) collect_names(item, out);
  for (const auto& entry : setting.entries) {
    if (entry.key == "name" && entry.value.is_scalar()) out.push_back(entry.value.value);
    collect_names(entry.value, out);
  }
}

void rename_input(Setting& input, const std::vector<Scope>& scopes) {
  for (Setting& item : input.items) rename_input(item, scopes);
  for (auto scope = scopes.rbegin(); input.is_scalar() && scope != scopes.rend(); ++scope)
    if (std::ranges::count(scope->names, input.value)) {
      input.value += scope->suffix;
      return;
    }
}

void expand(Setting& setting, std::vector<Scope>& scopes);

void append_copies(const Setting& item, std::vector<Scope>& scopes, std::vector<Setting>& out) {
  Problems none;
  const Repeat repeat = repeat_of(item, none);
  const std::string outer = scopes.empty() ? "" : scopes.back().suffix;
  scopes.emplace_back();
  collect_names(repeat.layers, scopes.back().names);
  for (int copy = 1; copy <= repeat.times; ++copy) {
    scopes.back().suffix = text(outer, "_", copy);
    Setting layers = repeat.layers;
    expand(layers, scopes);
    std::ranges::move(layers.items, std::back_inserter(out));
  }
  scopes.pop_back();
}

void expand(Setting& setting, std::vector<Scope>& scopes) {
  for (auto& entry : setting.entries) {
    if (!scopes.empty() && entry.key == "name" && entry.value.is_scalar()) entry.value.value += scopes.back().suffix;
    else if (!scopes.empty() && (entry.key == "inputs" || entry.key == "share")) rename_input(entry.value, scopes);
    else expand(entry.value, scopes);
  }
  std::vector<Setting> items;
  for (Setting& item : setting.items) {
    if (is_repeat(item)) {
      append_copies(item, scopes, items);
    } else {
      expand(item, scopes);
      items.push_back(std::move(item));
    }
  }
  setting.items = std::move(items);
}

}  // namespace

void expand_repeats(Setting& root, const YamlLimits& limits, Problems& problems) {
  const size_t before = problems.lines().size();
  const Size size = Checker(limits, problems).check(root);
  if (size.nodes > limits.nodes || size.text > double(limits.text))
    problems.add(root,
                 text("with every Repeat expanded the spec has ", size.nodes, " values in ", bytes_text(size.text),
                      "; at most ", limits.nodes, " in ", bytes_text(double(limits.text)), " are allowed"));
  if (problems.lines().size() != before) return;
  std::vector<Scope> scopes;
  expand(root, scopes);
}

}  // namespace neon
