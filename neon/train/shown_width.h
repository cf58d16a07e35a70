// How wide a text is in a terminal.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace neon {

// Letters of East Asia and pictures take two places, marks above a letter none.
inline size_t width_of_letter(uint32_t letter) {
  struct Range {
    uint32_t first, last;
    size_t width;
  };
  static constexpr std::array<Range, 15> kRanges = {{{0x0300, 0x036f, 0},
                                                     {0x1100, 0x115f, 2},
                                                     {0x200b, 0x200f, 0},
                                                     {0x20d0, 0x20ff, 0},
                                                     {0x2e80, 0x303e, 2},
                                                     {0x3041, 0xa4cf, 2},
                                                     {0xa960, 0xa97c, 2},
                                                     {0xac00, 0xd7a3, 2},
                                                     {0xf900, 0xfaff, 2},
                                                     {0xfe00, 0xfe0f, 0},
                                                     {0xfe30, 0xfe6f, 2},
                                                     {0xff00, 0xff60, 2},
                                                     {0xffe0, 0xffe6, 2},
                                                     {0x1f300, 0x1faff, 2},
                                                     {0x20000, 0x3fffd, 2}}};
  for (const Range& range : kRanges)
    if (letter >= range.first && letter <= range.last) return range.width;
  return 1;
}

// The text is UTF-8; a byte of no letter takes one place.
inline size_t shown_width(std::string_view text) {
  size_t out = 0;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const size_t more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    uint32_t letter = more == 0 ? byte : byte & (0x3fu >> more);
    for (size_t k = 1; k <= more && i + k < text.size(); ++k)
      letter = letter << 6 | (static_cast<uint8_t>(text[i + k]) & 0x3fu);
    out += width_of_letter(letter);
    i += 1 + more;
  }
  return out;
}

// With spaces behind it, up to a width.
inline std::string filled_up(std::string text, size_t width) {
  text.append(width - std::min(width, shown_width(text)), ' ');
  return text;
}

}  // namespace neon
