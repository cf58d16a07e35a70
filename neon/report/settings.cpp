#include "neon/report/settings.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "neon/core/error.h"
#include "neon/report/spec_differences.h"
#include "neon/spec/yaml.h"

namespace neon {

namespace {

void add_facts(const std::string& group, const std::string& key, const Setting& setting, std::vector<Fact>& out) {
  if (setting.is_map() && !setting.entries.empty())
    for (const auto& entry : setting.entries)
      add_facts(group, key.empty() ? entry.key : text(key, '.', entry.key), entry.value, out);
  else if (setting.is_list() && !setting.items.empty())
    for (size_t i = 0; i < setting.items.size(); ++i) add_facts(group, text(key, '[', i, ']'), setting.items[i], out);
  else out.push_back({group, key, setting.is_scalar() ? setting.value : setting.to_string()});
}

// The specs of all runs; none where one run has no spec, or a text that is no YAML.
std::vector<Setting> specs_of(const std::vector<ReportedRun>& runs) {
  std::vector<Setting> out;
  for (const ReportedRun& run : runs) {
    const auto found = std::ranges::find(run.documents, "spec", &RunText::title);
    if (found == run.documents.end()) return {};
    try {
      out.push_back(read_yaml_text(found->content, "spec"));
    } catch (const Error&) {
      return {};
    }
  }
  return out;
}

}  // namespace

std::vector<Fact> facts_of(const std::string& group, const Setting& setting) {
  std::vector<Fact> out;
  add_facts(group, "", setting, out);
  return out;
}

std::vector<Fact> facts_of_yaml(const std::string& group, const std::string& content) {
  try {
    return facts_of(group, read_yaml_text(content, group));
  } catch (const Error&) {
    return {{group, "", content}};
  }
}

std::vector<Difference> differences(const std::vector<ReportedRun>& runs) {
  const std::vector<Setting> specs = specs_of(runs);
  std::vector<Difference> all;
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (size_t r = 0; r < runs.size(); ++r)
    for (const Fact& fact : runs[r].facts) {
      if (!specs.empty() && fact.group == "spec") continue;
      const auto [place, is_new] = places.try_emplace({fact.group, fact.key}, all.size());
      if (is_new) all.push_back({fact.group, fact.key, std::vector<std::string>(runs.size())});
      all[place->second].values[r] = fact.value;
    }
  std::erase_if(all, [](const Difference& row) {
    return std::ranges::all_of(row.values, [&](const std::string& value) { return value == row.values.front(); });
  });
  if (specs.empty()) return all;
  std::vector<const Setting*> trees;
  for (const Setting& spec : specs) trees.push_back(&spec);
  std::vector<Difference> out = spec_differences(trees);
  std::ranges::move(all, std::back_inserter(out));
  return out;
}

}  // namespace neon
