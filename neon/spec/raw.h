// A YAML document as parsed, before aliases are replaced: nodes in a row, children as indices. An alias is
// the index of what it names, so the memory is that of the file however often a node is used.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/setting.h"
#include "neon/spec/source.h"
#include "neon/spec/yaml.h"

namespace neon {

struct RawNode {
  Setting::Kind kind = Setting::Kind::null;
  bool quoted = false;
  bool open = false;               // while its children are being parsed
  bool aliased = false;            // an alias names it
  bool merge = false;              // a plain `<<`: as a key it merges
  std::string value;               // of a scalar
  std::string tag;                 // of neon 0.9: "!obj:layers.FCLayer", "!hyperopt"
  std::string anchor;              // "init" of &init
  std::vector<uint32_t> children;  // of a list; of a map key, value, key, value ...
  int line = 0, column = 0;        // from 0, in bytes
};

struct RawDocument {
  std::vector<RawNode> nodes;
  uint32_t root = 0;
  bool empty = true;
  std::vector<std::string> anchored_keys;  // keys of the root map with an anchor under them
};

// Syntax, tags, depth and the number of nodes are checked here. Problems that do not end the parsing are added;
// others are thrown, with those added before them.
RawDocument parse_yaml(const Source& source, const YamlLimits& limits, Problems& problems);

// Whether the whole file is an object of neon 0.9.
bool is_old(const RawDocument& document);

// Whether the text, unquoted in block style, reads back as this very text.
bool is_plain(std::string_view value);

}  // namespace neon
