#include "neon/spec/unset_keys.h"

#include <algorithm>
#include <iterator>

#include "neon/core/registry.h"

namespace neon {

namespace {

// Calls `act` with each list of parameters that objects of the class have.
void for_each_schema(std::string_view object, auto&& act) {
  for (const Category& category : categories())
    for (const EntryInfo* const entry : category.entries) {
      if (entry->name != object && std::ranges::count(entry->aliases, object) == 0) continue;
      act(entry->schema());
      if (entry->common) act(entry->common());
    }
}

}  // namespace

const Field* parameter_of_class(std::string_view object, std::string_view key) {
  const Field* out = nullptr;
  for_each_schema(object, [&](const Schema& schema) { out = out ? out : schema.find(key); });
  return out;
}

std::vector<std::string> parameters_of_class(std::string_view object) {
  std::vector<std::string> out;
  for_each_schema(object, [&](const Schema& schema) { std::ranges::copy(schema.names(), std::back_inserter(out)); });
  return out;
}

bool takes_objects(const Field& parameter) {
  return std::ranges::any_of(categories(), [&](const Category& of) { return of.name == parameter.type; });
}

}  // namespace neon
