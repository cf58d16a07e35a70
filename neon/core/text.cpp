#include "neon/core/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

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

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = int(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = int(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
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

std::string printable(std::string_view foreign, size_t most) {
  const auto is_plain = [](char letter) { return letter >= ' ' && letter < '\x7f'; };
  if (foreign.size() <= most && std::ranges::all_of(foreign, is_plain)) return std::string(foreign);  // most are
  std::string out;
  size_t at = 0;
  while (at < foreign.size()) {
    const std::string_view letter = foreign.substr(at, std::max<size_t>(utf8_length(foreign.substr(at)), 1));
    if (at + letter.size() > most) return out + "...";
    const bool control = letter < " " || letter == "\x7f" || (letter >= "\xc2\x80" && letter < "\xc2\xa0");
    out += control || utf8_length(letter) == 0 ? "?" : letter;
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
    if (distance <= allowed || part) ranked.emplace_back(distance, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  const bool same_letters = !ranked.empty() && ranked[0].first == 0;
  for (auto& [distance, name] : ranked)
    if (out.size() < (same_letters ? 1 : 3) && std::find(out.begin(), out.end(), name) == out.end())
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
