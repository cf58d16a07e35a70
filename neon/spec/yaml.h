// YAML to our own tree, and back. The reader is strict: what another reader would take silently (doubled keys,
// a second document, an unclosed quote) is an error that says where.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "neon/core/setting.h"

namespace neon {

// The most that a file may cost. Nodes (values and lists and maps) and text are counted after aliases were
// replaced by what they stand for, so a small file cannot grow into a large tree.
struct YamlLimits {
  size_t bytes = size_t(4) << 20;  // of the file
  int depth = 64;                  // lists and maps within one another
  int nodes = 200000;
  size_t text = size_t(64) << 20;  // bytes of all values, keys and paths
  size_t key = 200;                // bytes of one key; it stands in every path under it
};

// Anchors, aliases and `<<` merges are resolved: every node is a value of its own. Own keys win over merged ones,
// and of several merged maps the first. Every node knows its place and path. An empty text is a null.
// Throws a config error with a line for each problem.
Setting read_yaml_text(std::string_view text, const std::string& name, const YamlLimits& limits = {});
// Also when the file is missing, unreadable or too large; a too large one is not read.
Setting read_yaml_file(const std::string& path, const YamlLimits& limits = {});

// Block style, ends with a newline; reads back as an equal tree.
std::string write_yaml(const Setting& setting);

// A text as a value that every reader of YAML takes for this text, also between braces: in quotes where it could be a
// number, a truth value, a date or null, or has signs of YAML in it.
std::string yaml_text(std::string_view value);

}  // namespace neon
