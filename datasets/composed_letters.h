// Letters with marks, which Unicode writes as one code point or as two: "é" is U+00E9, or e and U+0301.
#pragma once
#include <string>
#include <string_view>

namespace neon {

struct CodePoint {
  char32_t value;
  size_t bytes;  // 1 of a byte that is not UTF-8, whose value is 0xfffd
};
// The first code point of a text that is not empty.
CodePoint first_code_point(std::string_view text);

// The text with two code points for each such letter of Latin, Greek and Cyrillic writing.
std::string decomposed(std::string_view text);
// The code point for a letter and a mark; 0 without one.
char32_t composed(char32_t letter, char32_t mark);

}  // namespace neon
