#include "neon/train/changed_settings.h"

#include <algorithm>
#include <vector>

#include "neon/core/counted.h"
#include "neon/core/message.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// An object is written as {Name: {its parameters}} or as Name.
std::string object_name(const Setting& of) {
  if (of.is_scalar()) return of.value;
  return of.is_map() && of.entries.size() == 1 ? of.entries[0].key : "";
}

std::string shown_setting(const Setting& value) { return value.is_null() ? "null" : value.to_string(); }

void compare_settings(const Setting& then, const Setting& now, const std::string& path, std::vector<std::string>& out) {
  if (shown_setting(then) == shown_setting(now)) return;
  if (then.is_list() && now.is_list()) {
    if (then.items.size() != now.items.size()) {
      out.push_back(text(path, " had ", counted(int64_t(then.items.size()), "entry", "entries"), " and has ",
                         now.items.size(), " now"));
      return;
    }
    for (size_t k = 0; k < then.items.size(); ++k)
      compare_settings(then.items[k], now.items[k], text(path, '[', k, ']'), out);
    return;
  }
  const std::string was = object_name(then), is = object_name(now);
  if (!was.empty() && !is.empty() && was != is) {
    out.push_back(text(path, " was ", was, " and is ", is, " now"));
    return;
  }
  if (then.is_map() && now.is_map()) {
    for (const Setting::Entry& entry : then.entries)
      if (const Setting* const other = now.find(entry.key))
        compare_settings(entry.value, *other, text(path, '.', entry.key), out);
    return;
  }
  out.push_back(text(path, " was ", shown_setting(then), " and is ", shown_setting(now), " now"));
}

}  // namespace

std::string changed_settings(const Setting& then, const Setting& now, std::span<const std::string_view> keys) {
  constexpr size_t kMostShown = 3;
  std::vector<std::string> out;
  for (const std::string_view key : keys) {
    const Setting *const was = then.find(key), *const is = now.find(key);
    if (was && is) compare_settings(*was, *is, std::string(key), out);
  }
  if (out.size() > kMostShown) {
    const size_t more = out.size() - kMostShown;
    out.resize(kMostShown);
    out.push_back(text(more, " more changes"));
  }
  return join(out, ", ");
}

}  // namespace neon
