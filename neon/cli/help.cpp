// neon help [NAME]: what a spec can name, from the declared parameters.
#include <algorithm>
#include <cstdio>

#include "neon/cli/verbs.h"
#include "neon/train/experiment.h"

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
    std::printf("  %s: %s\n      %s\n", field.name.c_str(), value_of(field).c_str(), field.sentence.c_str());
    for (const std::string& alias : field.aliases) std::printf("      also written %s\n", alias.c_str());
    if (field.rest) std::printf("      what is in it may also stand without %s\n", field.name.c_str());
  }
}

void print_entry(const std::string& category, const EntryInfo& entry) {
  std::printf("%s (%s): %s\n", entry.name.c_str(), category.c_str(), entry.sentence.c_str());
  if (!entry.aliases.empty()) std::printf("  also written %s\n", join(entry.aliases, ", ").c_str());
  if (const auto& fields = entry.schema->fields; !fields.empty() && !fields.front().rest)
    std::printf("  a value by itself is its %s\n", fields.front().name.c_str());
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
    std::printf("  %-22s %s\n", entry->name.c_str(), entry->sentence.c_str());
}

// A key of the top level of a spec, and what its value may name.
void print_key(const Field& field) {
  std::printf("%s (spec): %s\n  %s\n", field.name.c_str(), field.sentence.c_str(), value_of(field).c_str());
  for (const std::string& alias : field.aliases) std::printf("  also written %s\n", alias.c_str());
  for (const Category& category : categories())
    if (field.type == category.name || field.type == "list of " + category.name || field.name == category.name + "s")
      print_category(category);
}

void print_overview() {
  std::printf(
      "neon help NAME explains one of these, neon help KIND each in a line; neon help spec the top level of a spec.\n");
  std::printf("%-12s %s\n", "spec", join(schema_of<ExperimentParams>().names(), ", ").c_str());
  for (const Category& category : categories())
    std::printf("%-12s %s\n", category.name.c_str(), names_in(category).c_str());
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
        if (found) std::printf("\n");
        std::printf("%s: a kind of things that a spec names\n", category.name.c_str());
        print_category(category);
        found = true;
      }
      for (const EntryInfo* entry : everything_in(category)) {
        known.push_back(entry->name);
        if (!is_named(*entry, name)) continue;
        if (found) std::printf("\n");
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
