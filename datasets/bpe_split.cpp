#include "datasets/bpe_split.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "neon/core/text.h"

namespace neon {

namespace {

struct CodeRange {
  uint32_t first, last;
};

#include "datasets/letter_ranges.inc"

template <size_t count>
bool is_in(const CodeRange (&ranges)[count], uint32_t code) {
  const auto* const behind = std::ranges::upper_bound(ranges, code, {}, &CodeRange::first);
  return behind != ranges && code <= std::prev(behind)->last;
}

bool is_white(uint32_t code) {
  return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

uint32_t code_of(std::string_view character) {
  const auto byte = [&](size_t i) { return uint32_t(uint8_t(character[i])); };
  if (character.size() == 1) return byte(0);
  uint32_t out = byte(0) & (0x7fu >> character.size());
  for (size_t i = 1; i < character.size(); ++i) out = out << 6 | (byte(i) & 0x3f);
  return out;
}

constexpr std::string_view kEndings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

}  // namespace

BpeSplit::Character BpeSplit::at(size_t place) const {
  if (place >= text_.size()) return {};
  const auto first = uint8_t(text_[place]);
  if (first < 0x80) {
    if ((first | 0x20) >= 'a' && (first | 0x20) <= 'z') return {Kind::letter, 1};
    if (first >= '0' && first <= '9') return {Kind::number, 1};
    return {is_white(first) ? Kind::space : Kind::other, 1};
  }
  const size_t bytes = utf8_length(text_.substr(place));
  if (bytes == 0) return {Kind::other, 1};
  const uint32_t code = code_of(text_.substr(place, bytes));
  if (is_white(code)) return {Kind::space, bytes};
  return {is_in(kLetters, code) ? Kind::letter : is_in(kNumbers, code) ? Kind::number : Kind::other, bytes};
}

// The end of the run of that kind, and where its last character begins.
size_t BpeSplit::end_of_run(size_t from, Kind kind, size_t* last) const {
  for (Character next = at(from); next.bytes > 0 && next.kind == kind; next = at(from)) {
    if (last) *last = from;
    from += next.bytes;
  }
  return from;
}

size_t BpeSplit::length() const {
  const std::string_view rest = text_.substr(at_);
  for (const std::string_view ending : kEndings)
    if (rest.starts_with(ending)) return ending.size();
  const Character first = at(at_), second = at(at_ + 1);
  const bool spaced = rest[0] == ' ' && second.bytes > 0 && second.kind != Kind::space;
  if (spaced) return end_of_run(at_ + 1, second.kind, nullptr) - at_;
  if (first.kind != Kind::space) return end_of_run(at_, first.kind, nullptr) - at_;
  size_t last = at_;
  const size_t end = end_of_run(at_, Kind::space, &last);
  return (end == text_.size() || last == at_ ? end : last) - at_;
}

bool BpeSplit::next(std::string_view& piece) {
  if (at_ == text_.size()) return false;
  piece = text_.substr(at_, length());
  at_ += piece.size();
  return true;
}

}  // namespace neon
