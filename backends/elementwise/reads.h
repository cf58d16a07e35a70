// Which operands the text of an elementwise expression reads. Constant evaluation only, so nothing of it is emitted
// into the objects that are compiled for one instruction set.
#pragma once
#include "backends/elementwise/level.h"

namespace neon::elementwise {

consteval bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
consteval bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Operand bits of the identifiers g, a, b, c, y in a C expression; 0 for "none". A number such as 1e-3 is no
// identifier.
consteval unsigned reads_of(const char* text) {
  unsigned reads = 0;
  while (*text) {
    const char* start = text;
    if (is_digit(*text)) {
      while (is_letter(*text) || is_digit(*text) || *text == '.' || ((*text == '-' || *text == '+') && text[-1] == 'e'))
        ++text;
    } else if (is_letter(*text)) {
      while (is_letter(*text) || is_digit(*text)) ++text;
      if (text - start == 1) {
        const char names[] = {'g', 'a', 'b', 'c', 'y'};
        for (unsigned i = 0; i < 5; ++i) reads |= *start == names[i] ? 1u << i : 0u;
      }
    } else {
      ++text;
    }
  }
  return reads;
}

// Arithmetic alone: no choice and no call.
consteval bool is_plain(const char* text) {
  while (*text && *text != '?' && *text != '(') ++text;
  return !*text;
}

}  // namespace neon::elementwise
