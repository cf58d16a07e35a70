#include "neon/spec/comments.h"

#include <algorithm>
#include <sstream>

#include "neon/core/text.h"

namespace neon {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

// The place at which a comment begins in a line, or npos. `quote` is the quote that is open, 0 without one.
size_t comment_start(std::string_view line, char& quote) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote) {
      if (quote == '"' && line[i] == '\\') ++i;
      else if (line[i] == quote) quote = 0;
    } else if ((line[i] == '"' || line[i] == '\'') &&
               (i == 0 || std::string_view(" \t[{,:").find(line[i - 1]) != line.npos)) {
      quote = line[i];
    } else if (line[i] == '#' && (i == 0 || is_space(line[i - 1]))) {
      return i;
    }
  }
  return line.npos;
}

// Nodes in the order of the text.
std::vector<const RawNode*> in_order(const RawDocument& raw) {
  std::vector<const RawNode*> out;
  for (const RawNode& node : raw.nodes) out.push_back(&node);
  std::ranges::stable_sort(out, {}, [](const RawNode* node) { return std::pair(node->line, node->column); });
  return out;
}

// The first node of the line, or behind it; null behind the last one.
const RawNode* first_node(const std::vector<const RawNode*>& nodes, int line, bool on_it) {
  const auto found = std::ranges::lower_bound(nodes, line, {}, [](const RawNode* node) { return node->line; });
  return found == nodes.end() || (on_it && (*found)->line != line) ? nullptr : *found;
}

}  // namespace

void collect_comments(const Source& source, const RawDocument& raw, Conversion& conversion) {
  for (const RawNode& node : raw.nodes)
    if (!node.anchor.empty()) conversion.anchors.push_back({source.at(node.line, node.column), node.anchor});
  if (source.text().find('#') == std::string::npos) return;
  const std::vector<const RawNode*> nodes = in_order(raw);
  std::istringstream lines(source.text());
  std::string line;
  char quote = 0;
  for (int row = 0; std::getline(lines, line); ++row) {
    const size_t start = comment_start(line, quote);
    if (start == line.npos) continue;
    const std::string_view before = std::string_view(line).substr(0, start);
    const bool alone = std::ranges::all_of(before, is_space);
    const RawNode* node = alone ? nullptr : first_node(nodes, row, true);
    if (!node) node = first_node(nodes, row + 1, false);
    conversion.comments.push_back({node ? source.at(node->line, node->column) : Location(), line.substr(start)});
  }
}

}  // namespace neon
