#include "neon/spec/default_name.h"

#include <algorithm>

#include "neon/core/registry.h"
#include "neon/spec/notation.h"

namespace neon {

namespace {

// Counts may be far past any integer before the limits of a spec are checked, and are cut off long before.
constexpr double kMost = 1e15;

class DefaultName {
 public:
  // Leaves `kind` empty for a key that is no such name.
  explicit DefaultName(const std::string& key) : key_(key) {
    const size_t end = key.rfind('_');
    if (end == key.npos || end == 0 || end + 1 == key.size() || key.size() - end > 16) return;
    if (key.find_first_not_of("0123456789", end + 1) != key.npos) return;
    if (key[end + 1] == '0' && end + 2 < key.size()) return;  // no number is written 00
    left_ = std::stod(key.substr(end + 1));
    kind_ = key.substr(0, end);
    std::string error;
    const EntryInfo* entry = find_in_category("layer", kind_, error);
    if (entry && entry->name != kind_) kind_.clear();  // an alias, which the net's names don't have
    else if (entry) aliases_ = entry->aliases;
  }

  // Null when the net has no such layer. Refuses one of several copies, since the file has no place for it alone.
  Setting* find(Setting& layers) {
    if (kind_.empty()) return nullptr;
    return find_in(layers);
  }

 private:
  // Looks in a layer, or in a list of layers.
  Setting* find_in(Setting& item) {
    if (item.is_list()) {
      for (Setting& below : item.items)
        if (Setting* found = find_in(below)) return found;
      return nullptr;
    }
    const auto [times, inside] = repeated(item);
    if (times == 1) return inside ? find_in(*inside) : nullptr;
    if (times >= 0) {
      const double all = count_in(item);
      if (left_ >= all) return left_ -= all, nullptr;
      fail(ErrorKind::config, "'", key_, "' is one of the ", times, " copies that ", item.path,
           " makes; they differ only in their names, so set the original, as in ", item.path, ".layers[0]...");
    }
    if (is_kind(item) && left_-- == 0) return &item;
    for (Setting* inside_it : layers_of(item))
      if (Setting* found = find_in(*inside_it)) return found;
    return nullptr;
  }

  double count_in(const Setting& item) const {
    double out = 0;
    for (const Setting& below : item.items) out += count_in(below);
    if (item.is_list()) return out;
    const auto [times, inside] = repeated(item);
    if (times >= 0) return std::min(inside ? times * count_in(*inside) : 0, kMost);
    out = is_kind(item);
    for (const Setting* inside_it : layers_of(item)) out += count_in(*inside_it);
    return out;
  }

  bool is_kind(const Setting& item) const {
    // Where layers stand a name is one's, quoted or not.
    std::string_view written = item.is_scalar() ? std::string_view(item.value) : class_of(item);
    written = written.substr(written.rfind('.') == written.npos ? 0 : written.rfind('.') + 1);
    return written == kind_ || std::ranges::count(aliases_, written) > 0;
  }

  // The layers in a layer's parameters: those of its branches, say. Every other value may look like a layer,
  // but is a name, an activation ...
  template <typename S>
  static std::vector<S*> layers_of(S& item) {
    std::vector<S*> out;
    std::string error;
    const EntryInfo* entry = is_object(item) ? find_in_category("layer", item.entries[0].key, error) : nullptr;
    if (!entry) return out;
    S& given = item.entries[0].value;
    const auto add = [&](const Field* field, S& value) {
      if (field && field->type.ends_with("list of layers")) out.push_back(&value);
    };
    for (auto& parameter : given.entries) add(entry->schema().find(parameter.key), parameter.value);
    if (!given.is_map() && !entry->schema().fields.empty()) add(&entry->schema().fields[0], given);
    return out;
  }

  // How often which layers follow one another, if it is a Repeat, and -1 if it is not. A wrong one is reported later.
  template <typename S>
  static std::pair<double, S*> repeated(S& item) {
    if (!is_object(item) || item.entries[0].key != "Repeat") return {-1, nullptr};
    const Setting* times = item.entries[0].value.find("times");
    int64_t number = 0;
    if (!times || !detail::read_integer(*times, number) || number < 0) number = 0;
    S* layers = item.entries[0].value.find("layers");
    return {layers ? double(number) : 0, layers};
  }

  const std::string& key_;
  std::string kind_;
  std::vector<std::string> aliases_;
  double left_ = 0;  // layers of the kind before the one looked for
};

}  // namespace

Setting* layer_by_default_name(Setting& layers, const std::string& key) { return DefaultName(key).find(layers); }

}  // namespace neon
