// neon help [NAME]: verbs, and everything that a spec can name, from their declarations.
#include <algorithm>
#include <functional>
#include <utility>

#include "neon/cli/usage.h"
#include "neon/cli/verb.h"
#include "neon/core/foreign_keys.h"
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
    if (field.rest) print_result("      its keys may also stand without " + field.name);
  }
}

void print_entry(const std::string& category, const EntryInfo& entry) {
  print_result(text(entry.name, " (", category, "): ", entry.sentence));
  if (!entry.aliases.empty()) print_result("  also written " + join(entry.aliases, ", "));
  if (const auto& fields = entry.schema().fields; !fields.empty() && !fields.front().rest)
    print_result("  a single value sets " + fields.front().name);
  print_schema(entry.schema());
  if (entry.common) print_schema(entry.common());
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

// Whether a key's page lists a category.
bool lists(const Field& key, const Category& category) {
  return key.type == category.name || key.type == "list of " + category.name || key.name == category.name + "s";
}

// A key of the top level of a spec, and what its value may name.
void print_key(const Field& field) {
  print_result(text(field.name, " (spec): ", field.sentence));
  print_result("  " + value_of(field));
  for (const std::string& alias : field.aliases) print_result("  also written " + alias);
  for (const Category& category : categories())
    if (lists(field, category)) print_category(category);
}

void print_overview() {
  print_result(
      "neon help NAME explains one of these names; neon help KIND has a line for each; neon help spec explains the top "
      "level.");
  print_result(formatted("%-12s ", "spec") + join(schema_of<ExperimentParams>().names(), ", "));
  for (const Category& category : categories())
    print_result(formatted("%-12s ", category.name.c_str()) + names_in(category));
}

// The things that have a parameter of that name.
std::string having_parameter(const std::string& name) {
  std::vector<std::string> out;
  for (const Category& category : categories())
    for (const EntryInfo* entry : everything_in(category))
      if (entry->schema().find(name)) out.push_back(entry->name);
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

// Verbs of that name, or that begin with it: data.
std::vector<const Verb*> verbs_named(const std::string& name) {
  std::vector<const Verb*> out;
  for (const Verb* verb : verbs())
    if (verb->name == name || verb->name.starts_with(name + " ")) out.push_back(verb);
  return out;
}

// Everything of that name, one page below the other: verbs, the spec, its keys, categories, what is registered in them.
std::vector<std::function<void()>> pages_of(const std::string& name) {
  std::vector<std::function<void()>> out;
  for (const Verb* verb : verbs_named(name)) out.push_back([verb] { print_lines(help_of(*verb)); });
  if (name == "spec") out.push_back([] { print_schema(schema_of<ExperimentParams>()); });
  const Field* const key = schema_of<ExperimentParams>().find(name);
  if (key) out.push_back([key] { print_key(*key); });
  for (const Category& category : categories()) {
    if (name == category.name && !(key && lists(*key, category)))
      out.push_back([&category] {
        print_result(category.name + ": a kind of things that a spec names");
        print_category(category);
      });
    for (const EntryInfo* entry : everything_in(category))
      if (is_named(*entry, name)) out.push_back([&category, entry] { print_entry(category.name, *entry); });
  }
  return out;
}

// For a word of other frameworks: what to write here. "" for other words.
std::string instead_of_foreign(const std::string& name) {
  if (const std::string mend = foreign_name_mend(name); !mend.empty()) return "; " + mend;
  const std::string own = own_key(name);
  if (own == name) return "";
  const std::string takers = having_parameter(own);
  return text("; neon's key is ", own, takers.empty() ? "" : ", a parameter of " + takers);
}

[[noreturn]] void unknown_name(const std::string& name) {
  std::vector<std::string> known = schema_of<ExperimentParams>().names();
  known.push_back("spec");
  std::ranges::copy(first_words(), std::back_inserter(known));
  for (const Category& category : categories()) {
    known.push_back(category.name);
    for (const EntryInfo* entry : everything_in(category)) known.push_back(entry->name);
  }
  const std::string takers = having_parameter(name), foreign = instead_of_foreign(name);
  const std::string hint = !takers.empty()    ? "; it is a parameter of " + takers
                           : !foreign.empty() ? foreign
                                              : did_you_mean(name, known);
  fail(ErrorKind::config, "nothing is named ", in_quotes(name), hint,
       "; neon help lists what a spec can name, neon --help the options");
}

int run_help(const CommandLine& line) {
  if (!line.of_verb.as.empty()) {
    print_data(help_as(line.of_verb.as));
    return 0;
  }
  if (line.operands.empty()) print_overview();
  std::vector<std::string> names = line.operands;
  if (const std::string all = join(names, " "); find_verb(all)) names = {all};  // data pack
  bool first = true;
  for (const std::string& name : names) {
    const auto pages = pages_of(name);
    if (pages.empty()) unknown_name(name);
    for (const auto& page : pages) {
      if (!std::exchange(first, false)) print_result("");
      page();
    }
  }
  return 0;
}

}  // namespace

NEON_VERB(run_help, "help", 110, takes_nothing, "[NAME ...]",
          "explain a verb, or a layer, optimizer, data set ... and its parameters");

}  // namespace neon
