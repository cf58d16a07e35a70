#include "neon/report/settings.h"

#include <algorithm>
#include <map>

#include "neon/core/error.h"
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
  std::vector<Difference> all;
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (size_t r = 0; r < runs.size(); ++r)
    for (const Fact& fact : runs[r].facts) {
      const auto [place, is_new] = places.try_emplace({fact.group, fact.key}, all.size());
      if (is_new) all.push_back({fact.group, fact.key, std::vector<std::string>(runs.size())});
      all[place->second].values[r] = fact.value;
    }
  std::erase_if(all, [](const Difference& row) {
    return std::ranges::all_of(row.values, [&](const std::string& value) { return value == row.values.front(); });
  });
  return all;
}

}  // namespace neon
