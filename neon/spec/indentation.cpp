#include "neon/spec/indentation.h"

#include <cstdlib>
#include <optional>

#include "neon/core/text.h"

namespace neon {

namespace {

// Column of the first character that is no space; none of an empty line or a comment.
std::optional<int> start_of(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  if (first == line.npos || line[first] == '#') return {};
  return int(first);
}

bool is_item(std::string_view line, int column) {
  const std::string_view rest = line.substr(size_t(column));
  return rest == "-" || rest.starts_with("- ");
}

}  // namespace

std::string wrong_indentation(const Source& source, int line, int column) {
  const std::string_view bad = source.line(line);
  if (start_of(bad) != column) return "";
  // The nearest item above, of the column that is nearest to this one.
  std::optional<int> items, line_of_items;
  for (int above = line - 1; above >= 0; --above) {
    const std::string_view text = source.line(above);
    const auto start = start_of(text);
    if (!start) continue;
    const bool item = is_item(text, *start);
    if (item && (!items || std::abs(*start - column) < std::abs(*items - column)))
      items = *start, line_of_items = above;
    if (*start == 0 && !item) break;  // the key that the list belongs to
  }
  if (!items) return "";
  if (!is_item(bad, column))
    return *items == column ? "'- ' is missing before this: it stands among the items of a list" : "";
  if (*items == column) return "";
  return text("this item begins in column ", column + 1, ", but the items of the list above begin in column ",
              *items + 1, " (line ", *line_of_items + 1, ")");
}

}  // namespace neon
