// A node of a file of neon 0.9. An alias is the very node that it names, so identity can be asked for.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neon/spec/raw.h"

namespace neon {

struct OldFile {
  const Source& source;
  const RawDocument& raw;
};

class OldNode {
 public:
  struct Entry;

  OldNode(const OldFile& file, uint32_t index) : file_(&file), index_(index) {}

  bool operator==(const OldNode& other) const { return index_ == other.index_; }
  bool is_null() const { return raw().kind == Setting::Kind::null; }
  bool is_scalar() const { return raw().kind == Setting::Kind::scalar; }
  bool is_list() const { return raw().kind == Setting::Kind::list; }
  bool is_map() const { return raw().kind == Setting::Kind::map; }
  const std::string& tag() const { return raw().tag; }
  const std::string& anchor() const { return raw().anchor; }
  bool is_aliased() const { return raw().aliased; }
  const std::string& value() const { return raw().value; }
  Location where() const { return file_->source.at(raw().line, raw().column); }

  std::vector<OldNode> items() const;
  // The last value of a key counts, as in 0.9; earlier ones only hold anchors. `<<` is replaced by what it merges.
  std::vector<Entry> entries() const;
  std::optional<OldNode> find(std::string_view key) const;
  // The scalar, as a Setting: with its place, and quoted where it was.
  Setting scalar() const;
  std::string describe() const;

 private:
  std::vector<Entry> entries(int& left) const;
  std::vector<Entry> merged_entries(int& left) const;
  const RawNode& raw() const { return file_->raw.nodes[index_]; }

  const OldFile* file_;
  uint32_t index_;
};

struct OldNode::Entry {
  std::string key;
  Location where;
  OldNode value;
  bool doubled = false;  // an earlier value of a key given again
};

}  // namespace neon
