#include "neon/core/message.h"

#include <algorithm>

namespace neon {

namespace {

bool continues_letter(char byte) { return (uint8_t(byte) & 0xC0) == 0x80; }

// Well-formed UTF-8 without its middle, so that at most `most` bytes stay; two thirds of them from the beginning.
std::string without_middle(std::string_view s, size_t most) {
  if (s.size() <= most) return std::string(s);
  size_t head = most * 2 / 3, tail = s.size() - (most - head - 3);
  while (head > 0 && continues_letter(s[head])) --head;
  while (tail < s.size() && continues_letter(s[tail])) ++tail;
  return text(s.substr(0, head), "...", s.substr(tail));
}

}  // namespace

std::string message_line(std::string_view message) {
  const std::string shown = printable(message);
  if (shown.size() <= kMostOfWord) return shown;
  std::string out;
  for (size_t begin = 0; begin < shown.size();) {
    const size_t end = std::min(shown.find(' ', begin), shown.size() - 1) + 1;  // with its space
    out += without_middle(std::string_view(shown).substr(begin, end - begin), kMostOfWord);
    begin = end;
  }
  return without_middle(out, kMostOfLine);
}

// Whether a name in a list seems to be more than one: it has a comma, not one of a shape (3, 4), and no quotes.
static bool seems_several(const std::string& name) {
  int open = 0;
  bool found = false;
  for (const char c : name) {
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    found = found || (c == ',' && open == 0);
  }
  return found && !name.starts_with('\'');
}

std::string list_text(const std::vector<std::string>& names, std::string_view separator, size_t most) {
  constexpr size_t kMostOfName = 90;
  std::vector<std::string> first;
  for (size_t i = 0; i < std::min(most, names.size()); ++i) {
    const std::string name = printable(names[i], kMostOfName);
    first.push_back(seems_several(name) ? text("'", name, "'") : name);
  }
  const std::string out = join(first, separator);
  return names.size() > most ? text(out, " and ", names.size() - most, " more") : out;
}

Faults::Faults(std::vector<std::string> lines)
    : Error(ErrorKind::config, join(lines, "\n")), lines_(std::move(lines)) {}

}  // namespace neon
