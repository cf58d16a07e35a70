// Small text helpers that every message is built with. Light: no streams, no fmt.
#pragma once
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// Shortest decimal text that reads back as the same number: 0.1, 1e-05, 3, nan, inf.
std::string number(double value);
std::string number(float value);

inline void append_text(std::string& out, std::string_view part) { out += part; }
inline void append_text(std::string& out, char part) { out += part; }
inline void append_text(std::string& out, double part) { out += number(part); }
inline void append_text(std::string& out, float part) { out += number(part); }
template <std::integral T>
void append_text(std::string& out, T part) {
  if constexpr (std::same_as<T, bool>) out += part ? "true" : "false";
  else out += std::to_string(part);
}
template <typename T>
requires requires(const T& value) {
  { value.to_string() } -> std::convertible_to<std::string>;
}
void append_text(std::string& out, const T& part) { out += part.to_string(); }

// All parts in a row: text("rate: ", 1.5, " is outside [0, 1)").
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string lower(std::string_view s);

// Bytes of the UTF-8 character that starts `text`; 0 when none does. Overlong forms, surrogates and values past
// U+10FFFF are no characters.
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// A text from elsewhere, fit to be shown. Control characters and bytes that are not UTF-8 become escapes (\n, \x1b),
// letters that command a terminal or turn the direction of writing too (\u202e). Cut after `most` bytes, with '...'.
std::string printable(std::string_view foreign, size_t most = std::string_view::npos);
// The same in quotes, for a message of one line.
std::string in_quotes(std::string_view foreign);

// A word of a shell's command line: in single quotes where the shell would read anything else in it, and as bash's
// $'...' where it could not be shown.
std::string shell_word(std::string_view word);

// The candidates that `wrong` was probably meant to be, best first, at most three: small edit
// distance, letter case ignored.
std::vector<std::string> nearest(std::string_view wrong, const std::vector<std::string>& candidates);

// "; did you mean relu?" or "" when nothing is near.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates);

// 1536 -> "1.5 KiB"; bytes
std::string bytes_text(double bytes);

}  // namespace neon
