#include "neon/spec/old/old_node.h"

#include <algorithm>

#include "neon/core/error.h"
#include "neon/spec/found_range.h"

namespace neon {

std::vector<OldNode> OldNode::items() const {
  std::vector<OldNode> out;
  if (is_list())
    for (uint32_t child : raw().children) out.emplace_back(*file_, child);
  return out;
}

namespace {

constexpr int kMostMerged = 10'000;  // maps that one map may merge, those in them included

}  // namespace

std::vector<OldNode::Entry> OldNode::entries() const {
  int left = kMostMerged;
  return entries(left);
}

// Keys of the map itself hide those that `<<` merges; of several maps the first counts.
std::vector<OldNode::Entry> OldNode::entries(int& left) const {
  std::vector<Entry> out, merged;
  if (!is_map()) return out;
  if (--left < 0) fail(ErrorKind::config, where(), ": '<<' merges too many maps");
  const auto& pairs = raw().children;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const OldNode key(*file_, pairs[i]), value(*file_, pairs[i + 1]);
    if (key.raw().merge) {
      for (Entry& entry : value.merged_entries(left)) merged.push_back(std::move(entry));
      continue;
    }
    for (Entry& earlier : out) earlier.doubled = earlier.doubled || earlier.key == key.value();
    out.push_back({key.value(), key.where(), value});
  }
  const auto is_there = [&](const Entry& entry) { return std::ranges::count(out, entry.key, &Entry::key) > 0; };
  for (Entry& entry : merged)
    if (!entry.doubled && !is_there(entry)) out.push_back(std::move(entry));
  return out;
}

// The entries of a map, or of the maps in a list.
std::vector<OldNode::Entry> OldNode::merged_entries(int& left) const {
  std::vector<Entry> out;
  for (const OldNode& map : is_list() ? items() : std::vector{*this}) {
    if (!map.is_map())
      fail(ErrorKind::config, map.where(), ": '<<' merges a map or a list of maps, and this is neither");
    for (Entry& entry : map.entries(left)) out.push_back(std::move(entry));
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
  if (const auto pairs = entries(); pairs.size() == 1 && pairs[0].key == kRangeKey) return "a range";
  return is_map() ? "a map" : is_list() ? "a list" : scalar().describe();
}

}  // namespace neon
