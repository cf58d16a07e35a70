// neon help [NAME]: what a spec can name, from the declared parameters.
#include <algorithm>
#include <cstdio>

#include "neon/cli/verbs.h"
#include "neon/train/experiment.h"

namespace neon {

namespace {

void print_schema(const Schema& schema) {
  for (const Field& field : schema.fields) {
    std::string line = text("  ", field.name, ": ", field.type);
    if (const std::string range = field.constraint.to_string(); !range.empty()) line += ", " + range;
    if (!field.unit.empty()) line += " (" + field.unit + ")";
    if (field.required) line += ", required";
    else if (!field.default_value.is_null()) line += ", default " + field.default_value.to_string();
    std::printf("%s\n      %s\n", line.c_str(), field.sentence.c_str());
    for (const std::string& alias : field.aliases) std::printf("      also written %s\n", alias.c_str());
  }
}

void print_entry(const std::string& category, const EntryInfo& entry) {
  std::printf("%s (%s): %s\n", entry.name.c_str(), category.c_str(), entry.sentence.c_str());
  if (!entry.aliases.empty()) std::printf("  also written %s\n", join(entry.aliases, ", ").c_str());
  print_schema(*entry.schema);
  if (entry.common) print_schema(*entry.common);
}

void print_overview() {
  std::printf("neon help NAME explains one of these; neon help spec the top level of a spec.\n");
  for (const Category& category : categories()) {
    std::vector<std::string> names;
    for (const EntryInfo* entry : category.entries) names.push_back(entry->name);
    std::ranges::sort(names);
    std::printf("%-12s %s\n", category.name.c_str(), join(names, ", ").c_str());
  }
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
    if (found) print_schema(schema_of<ExperimentParams>());
    std::vector<std::string> known = {"spec"};
    for (const Category& category : categories())
      for (const EntryInfo* entry : category.entries) {
        known.push_back(entry->name);
        if (!is_named(*entry, name)) continue;
        if (found) std::printf("\n");
        print_entry(category.name, *entry);
        found = true;
      }
    if (!found)
      fail(ErrorKind::config, "nothing is named '", name, "'", did_you_mean(name, known),
           "; neon help lists everything");
  }
  return 0;
}

}  // namespace neon
