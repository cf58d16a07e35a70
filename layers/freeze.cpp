#include "layers/freeze.h"

#include <fnmatch.h>

#include <algorithm>

#include "layers/layer.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"

namespace neon {

namespace {

bool names(const std::string& pattern, const Parameter& p) {
  const auto is_name = [&](const std::string& name) {
    return name == pattern || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  };
  return is_name(p.owner) || is_name(p.layer) || is_name(p.name);
}

// Messages about the spec's own `freeze` begin with that word; others are about a key that has a `freeze` in it.
template <typename... Parts>
[[noreturn]] void refuse(const std::string& key, const Parts&... parts) {
  fail_about(key.c_str(), key == "freeze" ? "" : "freeze: ", parts...);
}

}  // namespace

bool Freeze::holds(const Parameter& parameter) const {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return names(pattern, parameter); });
}

void Freeze::check(const std::vector<Parameter>& all) const {
  if (patterns.empty()) return;
  std::vector<std::string> layers, known;
  const auto add = [](std::vector<std::string>& to, const std::string& name) {
    if (!std::ranges::count(to, name)) to.push_back(name);
  };
  for (const Parameter& p : all) {
    add(layers, p.owner);
    for (const std::string& name : {p.owner, p.layer, p.name}) add(known, name);
  }
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(all, [&](const Parameter& p) { return names(pattern, p); }))
      refuse(key, "no layer with parameters and no tensor is named ", in_quotes(pattern), did_you_mean(pattern, known),
             " (known: ", list_text(layers), ")");
  if (std::ranges::all_of(all, [&](const Parameter& p) { return holds(p); }))
    refuse(key, list_text(patterns), patterns.size() > 1 ? " hold" : " holds",
           " all parameters, so nothing is left to train");
}

}  // namespace neon
