#include "neon/core/registry.h"

#include <cctype>
#include <mutex>

#include "neon/core/message.h"

namespace neon {

namespace {

// As far as they are made.
std::vector<Category>& made_categories() {
  static std::vector<Category> all;
  return all;
}

Category& category_named(const char* name) {
  for (Category& category : made_categories())
    if (category.name == name) return category;
  made_categories().push_back({name, {}, {}});
  return made_categories().back();
}

// Classes that wait to enter their tables, in the order of registration.
constinit const Registered *first_waiting = nullptr, *last_waiting = nullptr;
constinit std::mutex entering;

bool has_name(const EntryInfo& entry, std::string_view name) {
  return entry.name == name || std::ranges::count(entry.aliases, name) > 0;
}

}  // namespace

Registered::Registered(Enter enter, const char* name, const char* sentence, std::initializer_list<const char*> given)
    : enter(enter), name(name), sentence(sentence), alias_count(given.size()) {
  NEON_ASSERT(given.size() <= kMostAliases);
  std::ranges::copy(given, aliases.begin());
  (first_waiting ? last_waiting->next : first_waiting) = this;
  last_waiting = this;
}

void enter_registered() {
  const std::lock_guard lock(entering);
  while (const Registered* const waiting = first_waiting) {
    first_waiting = waiting->next;
    waiting->enter(*waiting);
  }
}

std::vector<Category>& categories() {
  enter_registered();
  return made_categories();
}

void add_to_category(const char* category, const EntryInfo* entry) {
  auto& entries = category_named(category).entries;
  for (const EntryInfo* other : entries) {
    bool clash = has_name(*other, entry->name);
    for (const std::string& alias : entry->aliases) clash = clash || has_name(*other, alias);
    if (clash)
      fail(ErrorKind::failed, "two entries of category ", category, " share a name: ", entry->name, ", ", other->name);
  }
  entries.push_back(entry);
}

void add_form(const char* category, const EntryInfo* form) { category_named(category).forms.push_back(form); }

namespace {

// Names with which `wrong` shares four letters or more in a row.
std::vector<std::string> akin(std::string_view wrong, const std::vector<std::string>& names) {
  constexpr size_t kLetters = 4;
  const auto lowered = [](std::string_view from) {
    std::string out(from);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return out;
  };
  const std::string letters = lowered(wrong);
  std::vector<std::string> out;
  for (const std::string& name : names)
    for (size_t i = 0; i + kLetters <= letters.size(); ++i)
      if (lowered(name).find(letters.substr(i, kLetters)) != std::string::npos) {
        out.push_back(name);
        break;
      }
  return out;
}

// "an activation", "a layer"
std::string with_article(std::string_view noun) {
  return text(std::string_view("aeiou").find(noun[0]) == std::string_view::npos ? "a " : "an ", noun);
}

// The category that has a name which another lacks; "" where none does.
std::string other_category(std::string_view name) {
  for (const Category& category : categories())
    for (const EntryInfo* entry : category.entries)
      if (has_name(*entry, name)) return category.name;
  return "";
}

// "; did you mean the activation Rectlin?": the nearest name of the other categories.
std::string near_in_others(const char* category, std::string_view name) {
  std::vector<std::string> all;
  for (const Category& other : categories())
    if (other.name != category)
      for (const EntryInfo* entry : other.entries) all.push_back(entry->name);
  const std::vector<std::string> near = nearest(name, all);
  return near.empty() ? "" : text("; did you mean the ", other_category(near.front()), " ", near.front(), "?");
}

// Nearest names within a category, each of its entries once.
std::string near_within(const char* category, std::string_view name, const std::vector<std::string>& all) {
  std::vector<std::string> out;
  std::vector<const EntryInfo*> met;
  for (const std::string& near : nearest(name, all)) {
    const auto& entries = category_named(category).entries;
    const auto entry = std::ranges::find_if(entries, [&](const EntryInfo* e) { return has_name(*e, near); });
    if (entry != entries.end() && std::ranges::count(met, *entry)) continue;
    if (entry != entries.end()) met.push_back(*entry);
    out.push_back(near);
  }
  return out.empty() ? "" : "; did you mean " + join(out, " or ") + "?";
}

// Says what to write for a name of another category: the entry that takes such a thing, "Activation: ReLU" for a layer.
std::string mended(const char* category, std::string_view other, std::string_view name) {
  for (const EntryInfo* entry : category_named(category).entries)
    if (lower(entry->name) == other) return text("write `", entry->name, ": ", name, "`");
  return text("`neon help ", name, "` explains it");
}

// Names of other frameworks.
std::vector<std::span<const ForeignName>>& foreign_names() {
  static std::vector<std::span<const ForeignName>> names;
  return names;
}

// The name of that category, or of any for "". Null for any other name.
const ForeignName* find_foreign_name(std::string_view category, std::string_view name) {
  for (const auto& names : foreign_names())
    for (const ForeignName& foreign : names)
      if ((category.empty() || category == foreign.category) && lower(foreign.name) == lower(name)) return &foreign;
  return nullptr;
}

}  // namespace

void add_foreign_names(std::span<const ForeignName> names) { foreign_names().push_back(names); }

std::string foreign_name_mend(std::string_view name) {
  const ForeignName* const foreign = find_foreign_name("", name);
  return foreign ? foreign->mend : "";
}

namespace {

// neon 0.9 has paths without its own name, as transforms.RectLin.
bool is_package_of_neon(std::string_view package) {
  constexpr std::string_view kPackages[] = {"neon",        "callbacks",    "datasets", "diagnostics",
                                            "experiments", "initializers", "layers",   "metrics",
                                            "models",      "optimizers",   "params",   "transforms"};
  return std::ranges::find(kPackages, package) != std::end(kPackages);
}

}  // namespace

const EntryInfo* find_in_category(const char* category, std::string_view name, std::string& error) {
  enter_registered();
  constexpr size_t kMostNames = 24;  // that a message lists
  // A dotted path into neon, as 1.x allowed (neon.layers.Affine), means its last part.
  const std::string_view last = name.substr(name.rfind('.') == name.npos ? 0 : name.rfind('.') + 1);
  std::vector<std::string> names, all;
  for (const EntryInfo* form : category_named(category).forms) {
    names.push_back(form->name);
    all.push_back(form->name);
  }
  for (const EntryInfo* entry : category_named(category).entries) {
    if (has_name(*entry, last)) {
      if (last == name || is_package_of_neon(lower(name.substr(0, name.find('.'))))) return entry;
      error = text("unknown ", category, " ", in_quotes(name), ", a class of a Python package; neon's own is ",
                   entry->name);
      return nullptr;
    }
    names.push_back(entry->name);
    all.push_back(entry->name);
    all.insert(all.end(), entry->aliases.begin(), entry->aliases.end());
  }
  if (const ForeignName* const foreign = find_foreign_name(category, last)) {
    error = text("unknown ", category, " ", in_quotes(name), "; ", foreign->mend);
    return nullptr;
  }
  if (const std::string other = other_category(last); !other.empty()) {
    error = text("unknown ", category, " ", in_quotes(name), ": that is ", with_article(other), "; ",
                 mended(category, other, last));
    return nullptr;
  }
  std::ranges::sort(names);
  std::string hint = near_within(category, last, all);
  if (hint.empty() && names.size() > kMostNames)
    if (const auto near = akin(last, names); !near.empty()) hint = "; similar are " + list_text(near);
  if (hint.empty()) hint = near_in_others(category, last);
  error = text("unknown ", category, " ", in_quotes(name), hint);
  if (names.size() <= kMostNames) error += " (known: " + join(names, ", ") + ")";
  else if (hint.empty()) error += text("; `neon help ", category, "` lists every ", category);
  return nullptr;
}

namespace {

// Says what to write in place of a map that names its class by a key, as neon 1.x did; "" for any other.
std::string named_by_key(const Setting& from, const char* category) {
  for (const char* key : {"name", "type"}) {
    const Setting* named = from.is_map() ? from.find(key) : nullptr;
    if (!named || !named->is_scalar()) continue;
    const auto is_object = [](const Setting::Entry& entry) {  // {affine: {nout: 3}, name: first}
      return std::isupper(uint8_t(entry.key[0])) || (entry.value.is_map() && entry.key != "config");
    };
    if (std::ranges::any_of(from.entries, is_object)) continue;
    std::string error;
    const EntryInfo* entry = find_in_category(category, named->value, error);
    const std::string name = entry ? entry->name : "Name";
    return text(with_article(category), " is written ", name, ", or ", name, ": {parameters}, without '", key, "'",
                entry ? "" : "; " + error);
  }
  return "";
}

}  // namespace

bool split_object(const Setting& from, const char* category, NamedObject& out, Problems& problems) {
  if (const std::string mend = named_by_key(from, category); !mend.empty()) {
    problems.add(from, mend);
    return false;
  }
  if (from.is_scalar()) {
    out = {from.value, {}};
    out.params.where = from.where;
    out.params.path = from.path;
    return true;
  }
  if (from.is_map() && from.entries.size() == 1) {
    out = {from.entries.front().key, from.entries.front().value};
    if (out.params.is_null()) {
      out.params.where = from.where;
      out.params.path = from.path;
    }
    return true;
  }
  std::string message =
      text("expected ", with_article(category), " (Name, or Name: {parameters}), found ", from.describe());
  if (from.is_map() && from.entries.size() > 1)
    message = text("expected one ", category, " (Name: {parameters}), found a map with keys ", list_text(from.keys()),
                   "; are the parameters indented under the name?");
  problems.add(from, message);
  return false;
}

void split_common(const Schema& own, const Schema& common, const Setting& from, Setting& own_part,
                  Setting& common_part) {
  own_part = from;
  common_part = {};
  common_part.where = from.where;
  common_part.path = from.path;
  if (!from.is_map()) return;
  own_part.entries.clear();
  common_part.kind = Setting::Kind::map;
  for (const auto& entry : from.entries) {
    const bool shared = common.find(entry.key) && !own.find(entry.key);
    (shared ? common_part : own_part).entries.push_back(entry);
  }
}

Setting with_first_named(const Schema& own, const Setting& from) {
  if (own.fields.empty() || !from.is_map() || from.entries.size() != 1) return from;
  const std::string& key = from.entries[0].key;
  const bool is_object = std::ranges::any_of(
      categories(), [&](const Category& category) { return category.name == own.fields.front().type; });
  if (!is_object || own.find(key) || key.empty() || !std::isupper(uint8_t(key[0]))) return from;
  Setting object = from;
  if (!from.path.empty()) object.set_paths(from.path + "." + own.fields.front().name);
  Setting out = Setting::map({{own.fields.front().name, std::move(object), from.where}}, from.where);
  out.path = from.path;
  return out;
}

}  // namespace neon
