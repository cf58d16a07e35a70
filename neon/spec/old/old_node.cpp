#include "neon/spec/old/old_node.h"

namespace neon {

std::vector<OldNode> OldNode::items() const {
  std::vector<OldNode> out;
  if (is_list())
    for (uint32_t child : raw().children) out.emplace_back(*file_, child);
  return out;
}

std::vector<OldNode::Entry> OldNode::entries() const {
  std::vector<Entry> out;
  if (!is_map()) return out;
  const auto& pairs = raw().children;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const OldNode key(*file_, pairs[i]);
    for (Entry& earlier : out) earlier.doubled = earlier.doubled || earlier.key == key.value();
    out.push_back({key.value(), key.where(), OldNode(*file_, pairs[i + 1])});
  }
  return out;
}

std::optional<OldNode> OldNode::find(std::string_view key) const {
  std::optional<OldNode> out;
  for (const Entry& entry : entries())
    if (entry.key == key) out = entry.value;
  return out;
}

Setting OldNode::scalar() const {
  Setting out;
  out.kind = is_scalar() ? Setting::Kind::scalar : Setting::Kind::null;
  out.value = value();
  out.quoted = raw().quoted;
  out.where = where();
  return out;
}

std::string OldNode::describe() const {
  if (!tag().empty()) return tag();
  return is_map() ? "a map" : is_list() ? "a list" : scalar().describe();
}

}  // namespace neon
