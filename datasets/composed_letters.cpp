#include "datasets/composed_letters.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "neon/core/text.h"

namespace neon {

namespace {

struct ComposedLetter {
  uint16_t code, letter, mark;
};

constexpr ComposedLetter kComposed[] = {
#include "datasets/composed_letters.inc"
};

void append_code_point(char32_t code, std::string& to) {
  if (code < 0x80) to += char(code);
  else if (code < 0x800) to += char(0xc0 | code >> 6), to += char(0x80 | (code & 0x3f));
  else to += char(0xe0 | code >> 12), to += char(0x80 | (code >> 6 & 0x3f)), to += char(0x80 | (code & 0x3f));
}

// A letter may have several marks.
bool append_decomposed(char32_t code, std::string& to) {
  const auto found = std::ranges::lower_bound(kComposed, code, {}, &ComposedLetter::code);
  if (found == std::end(kComposed) || found->code != code) return false;
  if (!append_decomposed(found->letter, to)) append_code_point(found->letter, to);
  append_code_point(found->mark, to);
  return true;
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const size_t length = utf8_length(text);
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 0) return {0xfffd, 1};
  if (length == 1) return {byte(0), 1};
  char32_t value = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) value = value << 6 | (byte(i) & 0x3f);
  return {value, length};
}

std::string decomposed(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!append_decomposed(point.value, out)) out += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  return out;
}

char32_t composed(char32_t letter, char32_t mark) {
  if (mark < 0x300 || mark > 0x36f) return 0;
  const auto found =
      std::ranges::find_if(kComposed, [&](const ComposedLetter& c) { return c.letter == letter && c.mark == mark; });
  return found == std::end(kComposed) ? 0 : found->code;
}

}  // namespace neon
