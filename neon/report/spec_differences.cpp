#include "neon/report/spec_differences.h"

#include <algorithm>
#include <map>

#include "neon/core/error.h"
#include "neon/core/registry.h"
#include "neon/spec/notation.h"

namespace neon {

namespace {

using Settings = std::vector<const Setting*>;  // of each spec; null where a spec lacks it

const Field* field_of(const EntryInfo& entry, const std::string& key) {
  if (const Field* own = entry.schema().find(key)) return own;
  return entry.common ? entry.common().find(key) : nullptr;
}

// The registered class of that name that has all these parameters; null without one.
const EntryInfo* entry_of(const std::string& name, const Setting& params) {
  enter_registered();
  for (const Category& category : categories())
    for (const EntryInfo* entry : category.entries)
      if (entry->name == name &&
          std::ranges::all_of(params.entries, [&](const Setting::Entry& param) { return field_of(*entry, param.key); }))
        return entry;
  return nullptr;
}

bool is_default(const EntryInfo* entry, const Setting::Entry& param) {
  const Field* const field = entry ? field_of(*entry, param.key) : nullptr;
  return field && !field->required && field->default_value.to_string() == param.value.to_string();
}

Setting brief(const Setting& setting) {
  Setting out = setting;
  for (Setting& item : out.items) item = brief(item);
  for (Setting::Entry& entry : out.entries) entry.value = brief(entry.value);
  if (!is_object(setting) || !setting.entries[0].value.is_map()) return out;
  const std::string& name = setting.entries[0].key;
  const std::vector<Setting::Entry>& all = setting.entries[0].value.entries;
  const EntryInfo* const entry = entry_of(name, setting.entries[0].value);
  std::vector<Setting::Entry> kept;
  for (size_t k = 0; k < all.size(); ++k)
    if (!is_default(entry, all[k])) kept.push_back(out.entries[0].value.entries[k]);
  if (kept.empty()) return Setting::scalar(name);
  const bool is_first = entry && !entry->schema().fields.empty() && kept[0].key == entry->schema().fields[0].name;
  out.entries[0].value =
      kept.size() == 1 && is_first && kept[0].value.is_scalar() ? kept[0].value : Setting::map(std::move(kept));
  return out;
}

std::string shown(const Setting* setting) {
  if (!setting) return "";
  if (!setting->is_scalar()) return brief_text(*setting);
  return setting->value.empty() ? "\"\"" : setting->value;
}

// An item of a list in each spec, with its index there.
struct Row {
  Settings items;
  std::vector<size_t> indices;
};

// How well two items of lists go together; 0: they are not each other's.
int likeness(const Setting& one, const std::string& one_text, const Setting& other, const std::string& other_text) {
  if (one_text == other_text) return 4;
  if (one.is_list() && other.is_list()) return 1;
  const bool same_class = !class_of(one).empty() && class_of(one) == class_of(other);
  return same_class ? 2 : 0;
}

class Differences {
 public:
  explicit Differences(size_t specs) : specs_(specs) {}

  void walk(const std::string& path, const Settings& at) {
    if (are_alike(at)) return;
    const auto all = [&](auto is) {
      return std::ranges::all_of(at, [&](const Setting* one) { return one && is(*one); });
    };
    if (all([](const Setting& one) { return one.is_map(); }) && have_one_class(at)) return walk_maps(path, at);
    if (all([](const Setting& one) { return one.is_list(); }) && have_parts(at)) return walk_lists(path, at);
    std::vector<std::string> values;
    for (const Setting* one : at) values.push_back(shown(one));
    rows.push_back({"spec", path, std::move(values)});
  }

  std::vector<Difference> rows;

 private:
  static bool are_alike(const Settings& at) {
    return std::ranges::all_of(
        at, [&](const Setting* one) { return !one == !at[0] && (!one || one->to_string() == at[0]->to_string()); });
  }

  // Objects of one class, or maps without a class.
  static bool have_one_class(const Settings& at) {
    return std::ranges::all_of(at, [&](const Setting* one) {
      return is_object(*one) == is_object(*at[0]) && (!is_object(*one) || class_of(*one) == class_of(*at[0]));
    });
  }

  // Lists of objects or of lists, as layers and branches are. Other lists are one value.
  static bool have_parts(const Settings& at) {
    return std::ranges::all_of(at, [](const Setting* list) {
      return std::ranges::all_of(list->items,
                                 [](const Setting& one) { return one.is_list() || !class_of(one).empty(); });
    });
  }

  void walk_maps(const std::string& path, const Settings& at) {
    std::vector<std::string> keys;
    for (const Setting* one : at)
      for (const std::string& key : one->keys())
        if (!std::ranges::count(keys, key)) keys.push_back(key);
    for (const std::string& key : keys) {
      Settings inside;
      for (const Setting* one : at) inside.push_back(one->find(key));
      walk(path.empty() ? key : text(path, '.', key), inside);
    }
  }

  void walk_lists(const std::string& path, const Settings& at) {
    std::vector<Row> merged;
    for (size_t r = 0; r < specs_; ++r) merge(*at[r], r, merged);
    for (const Row& row : merged) {
      std::string index;
      std::vector<size_t> different;
      for (size_t r = 0; r < specs_; ++r)
        if (row.items[r] && !std::ranges::count(different, row.indices[r])) {
          different.push_back(row.indices[r]);
          index += text(index.empty() ? "" : "|", row.indices[r]);
        }
      walk(text(path, '[', index, ']'), row.items);
    }
  }

  // Puts the items of one spec's list beside those that they resemble most, in order; others get rows of their own.
  void merge(const Setting& list, size_t spec, std::vector<Row>& rows) const {
    const size_t n = rows.size(), m = list.items.size();
    std::vector<const Setting*> heads;  // of each row
    std::vector<std::string> row_texts, item_texts;
    for (const Row& row : rows) {
      heads.push_back(*std::ranges::find_if(row.items, [](const Setting* one) { return one != nullptr; }));
      row_texts.push_back(heads.back()->to_string());
    }
    for (const Setting& item : list.items) item_texts.push_back(item.to_string());
    const auto like = [&](size_t i, size_t j) {
      return likeness(*heads[i], row_texts[i], list.items[j], item_texts[j]);
    };
    std::vector<std::vector<int>> best(n + 1, std::vector<int>(m + 1));  // from row i and item j on
    for (size_t i = n; i-- > 0;)
      for (size_t j = m; j-- > 0;) {
        best[i][j] = std::max(best[i + 1][j], best[i][j + 1]);
        if (const int own = like(i, j)) best[i][j] = std::max(best[i][j], own + best[i + 1][j + 1]);
      }
    std::vector<Row> out;
    for (size_t i = 0, j = 0; i < n || j < m;) {
      const int own = i < n && j < m ? like(i, j) : 0;
      const bool together = own && best[i][j] == own + best[i + 1][j + 1];
      const bool takes_row = i < n && (together || j == m || best[i][j] == best[i + 1][j]);
      out.push_back(takes_row ? std::move(rows[i++]) : Row{Settings(specs_), std::vector<size_t>(specs_)});
      if (takes_row && !together) continue;
      out.back().items[spec] = &list.items[j];
      out.back().indices[spec] = j++;
    }
    rows = std::move(out);
  }

  const size_t specs_;
};

}  // namespace

std::string brief_text(const Setting& setting) {
  const Setting short_one = brief(setting);
  const std::string out = short_one.to_string();
  return is_object(short_one) ? out.substr(1, out.size() - 2) : out;  // without the outer braces
}

namespace {

// Whether no spec has a value in both rows.
bool are_apart(const Difference& one, const Difference& other) {
  for (size_t r = 0; r < one.values.size(); ++r)
    if (!one.values[r].empty() && !other.values[r].empty()) return false;
  return true;
}

}  // namespace

std::vector<Difference> spec_differences(const std::vector<const Setting*>& specs) {
  Differences found(specs.size());
  found.walk("", specs);
  // Items that are not each other's may have one index in their lists: they share a row.
  std::vector<Difference> out;
  for (Difference& row : found.rows) {
    const auto same = std::ranges::find_if(
        out, [&](const Difference& other) { return other.key == row.key && are_apart(other, row); });
    if (same == out.end()) out.push_back(std::move(row));
    else
      for (size_t r = 0; r < row.values.size(); ++r)
        if (!row.values[r].empty()) same->values[r] = std::move(row.values[r]);
  }
  return out;
}

}  // namespace neon
