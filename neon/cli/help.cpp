// neon help [NAME]: what a spec can name, from the declared parameters.
#include <algorithm>

#include "neon/cli/verbs.h"
#include "neon/train/experiment.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// "integer, at least 1 (steps), default 3"
std::string value_of(const Field& field) {
  std::string line = field.type;
  if (const std::string range = field.constraint.to_string(); !range.empty()) line += ", " + range;
  if (!field.unit.empty()) line += " (" + field.unit + ")";
  if (field.required) line += ", required";
  else if (!field.default_value.is_null()) line += ", default " + field.default_value.to_string();
  return line;
}

void print_schema(const Schema& schema) {
  for (const Field& field : schema.fields) {
    print_result(text("  ", field.name, ": ", value_of(field)));
    print_result("      " + field.sentence);
    for (const std::string& alias : field.aliases) print_result("      also written " + alias);
    if (field.rest) print_result("      what is in it may also stand without " + field.name);
  }
}

void print_entry(const std::string& category, const EntryInfo& entry) {
  print_result(text(entry.name, " (", category, "): ", entry.sentence));
  if (!entry.aliases.empty()) print_result("  also written " + join(entry.aliases, ", "));
  if (const auto& fields = entry.schema->fields; !fields.empty() && !fields.front().rest)
    print_result("  a value by itself is its " + fields.front().name);
  print_schema(*entry.schema);
  if (entry.common) print_schema(*entry.common);
}

std::vector<const EntryInfo*> everything_in(const Category& category) {
  std::vector<const EntryInfo*> out = category.entries;
  out.insert(out.end(), category.forms.begin(), category.forms.end());
  std::ranges::sort(out, {}, &EntryInfo::name);
  return out;
}

std::string names_in(const Category& category) {
  std::vector<std::string> names;
  for (const EntryInfo* entry : everything_in(category)) names.push_back(entry->name);
  return join(names, ", ");
}

// A line for each.
void print_category(const Category& category) {
  for (const EntryInfo* entry : everything_in(category))
    print_result(formatted("  %-22s ", entry->name.c_str()) + entry->sentence);
}

// A key of the top level of a spec, and what its value may name.
void print_key(const Field& field) {
  print_result(text(field.name, " (spec): ", field.sentence));
  print_result("  " + value_of(field));
  for (const std::string& alias : field.aliases) print_result("  also written " + alias);
  for (const Category& category : categories())
    if (field.type == category.name || field.type == "list of " + category.name || field.name == category.name + "s")
      print_category(category);
}

void print_overview() {
  print_result(
      "neon help NAME explains one of these, neon help KIND each in a line; neon help spec the top level of a spec.");
  print_result(formatted("%-12s ", "spec") + join(schema_of<ExperimentParams>().names(), ", "));
  for (const Category& category : categories())
    print_result(formatted("%-12s ", category.name.c_str()) + names_in(category));
}

// The things that have a parameter of that name.
std::string having_parameter(const std::string& name) {
  std::vector<std::string> out;
  for (const Category& category : categories())
    for (const EntryInfo* entry : everything_in(category))
      if (entry->schema->find(name)) out.push_back(entry->name);
  constexpr size_t kMost = 12;
  if (out.size() <= kMost) return join(out, ", ");
  const size_t more = out.size() - kMost;
  out.resize(kMost);
  return text(join(out, ", "), " and ", more, " more");
}

bool is_named(const EntryInfo& entry, const std::string& name) {
  const std::string wanted = lower(name);
  return lower(entry.name) == wanted ||
         std::ranges::any_of(entry.aliases, [&](const auto& a) { return lower(a) == wanted; });
}

}  // namespace

int run_help(const CommandLine& line) {
  if (line.operands.empty()) print_overview();
  for (const std::string& name : line.operands) {
    bool found = name == "spec";
    const Schema& spec = schema_of<ExperimentParams>();
    if (found) print_schema(spec);
    std::vector<std::string> known = spec.names();
    known.push_back("spec");
    if (const Field* key = spec.find(name)) {
      print_key(*key);
      found = true;
    }
    for (const Category& category : categories()) {
      known.push_back(category.name);
      if (name == category.name && !spec.find(name)) {  // a key has printed what it may name
        if (found) print_result("");
        print_result(category.name + ": a kind of things that a spec names");
        print_category(category);
        found = true;
      }
      for (const EntryInfo* entry : everything_in(category)) {
        known.push_back(entry->name);
        if (!is_named(*entry, name)) continue;
        if (found) print_result("");
        print_entry(category.name, *entry);
        found = true;
      }
    }
    if (!found) {
      const std::string takers = having_parameter(name);
      fail(ErrorKind::config, "nothing is named '", name, "'", takers.empty() ? did_you_mean(name, known) : "",
           takers.empty() ? "" : "; it is a parameter of " + takers,
           "; neon help lists what a spec can name, neon --help the options");
    }
  }
  return 0;
}

}  // namespace neon
