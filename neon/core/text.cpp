#include "neon/core/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "neon/core/edit_distance.h"

namespace neon {

namespace {

template <typename T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

}  // namespace

std::string number(double value) { return shortest(value); }
std::string number(float value) { return shortest(value); }

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
  if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

namespace {

// "\n", "\x1b": bytes below 128 and bytes that are not UTF-8.
std::string byte_escape(unsigned char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  if (byte == '\r') return "\\r";
  static const char* hex = "0123456789abcdef";
  return {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
}

// Code point of a well-formed UTF-8 letter of two or three bytes.
unsigned code_point(std::string_view letter) {
  auto low = [&](size_t i) { return unsigned(uint8_t(letter[i]) & 0x3F); };
  return letter.size() == 2 ? (uint8_t(letter[0]) & 0x1Fu) << 6 | low(1)
                            : (uint8_t(letter[0]) & 0x0Fu) << 12 | low(1) << 6 | low(2);
}

// C1 controls, which a terminal obeys; line separators; marks that turn the direction of writing (UAX #9).
bool commands_terminal(unsigned code) {
  return (code >= 0x80 && code < 0xA0) || code == 0x61C || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// A letter as it may be shown; `length` is utf8_length's.
std::string shown_letter(std::string_view letter, size_t length) {
  if (length == 0 || letter < " " || letter == "\x7f") return byte_escape(uint8_t(letter[0]));
  if (length == 1 || length == 4 || !commands_terminal(code_point(letter))) return std::string(letter);
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", code_point(letter));
  return buffer;
}

}  // namespace

std::string printable(std::string_view foreign, size_t most) {
  const auto is_plain = [](char letter) { return letter >= ' ' && letter < '\x7f'; };
  if (foreign.size() <= most && std::ranges::all_of(foreign, is_plain)) return std::string(foreign);  // most are
  std::string out;
  for (size_t at = 0; at < foreign.size();) {
    const size_t length = utf8_length(foreign.substr(at));
    const std::string_view letter = foreign.substr(at, std::max<size_t>(length, 1));
    const std::string shown = shown_letter(letter, length);
    if (out.size() + shown.size() > most) return out + "...";
    out += shown;
    at += letter.size();
  }
  return out;
}

std::string in_quotes(std::string_view foreign) { return "'" + printable(foreign, 80) + "'"; }

std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return std::isalnum(uint8_t(c)) || uint8_t(c) > 127 ||
           std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
  };
  const bool shows = printable(word) == word;
  if (shows && !word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string out = shows ? "'" : "$'";
  for (const char c : word) {
    const auto byte = uint8_t(c);
    if (shows) {
      out += c == '\'' ? "'\\''" : std::string(1, c);
    } else if (byte < ' ' || byte > '~') {
      out += {'\\', char('0' + byte / 64), char('0' + byte / 8 % 8), char('0' + byte % 8)};
    } else {
      out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    }
  }
  return out + "'";
}

std::vector<std::string> nearest(std::string_view wrong, const std::vector<std::string>& candidates) {
  if (wrong.size() > 64) return {};
  std::vector<std::pair<int, std::string>> ranked;
  const std::string query = lower(wrong);
  for (const std::string& candidate : candidates) {
    const std::string known = lower(candidate);
    int distance = edit_distance(query, known);
    const bool part = query.size() >= 3 && (known.find(query) != std::string::npos ||
                                            (known.size() >= 3 && query.find(known) != std::string::npos));
    if (part) distance = std::min(distance, 2);
    const int allowed = std::max(1, int(std::max(query.size(), known.size())) / 3);
    const bool all_differ = distance >= int(std::max(query.size(), known.size()));
    if ((distance <= allowed && !all_differ) || part) ranked.emplace_back(distance, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  // Beside a name with one slip, those with more only mislead.
  if (!ranked.empty() && ranked[0].first <= 1)
    std::erase_if(ranked, [best = ranked[0].first](const auto& item) { return item.first > best; });
  std::vector<std::string> out;
  for (auto& [distance, name] : ranked)
    if (out.size() < (ranked[0].first == 0 ? 1 : 3) && std::find(out.begin(), out.end(), name) == out.end())
      out.push_back(name);
  return out;
}

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates) {
  const auto near = nearest(wrong, candidates);
  if (near.empty()) return "";
  return "; did you mean " + join(near, " or ") + "?";
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return buffer;
}

}  // namespace neon
