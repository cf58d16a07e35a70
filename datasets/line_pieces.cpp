#include "datasets/line_pieces.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>

#include "datasets/short_numbers.h"

namespace neon {

namespace {

constexpr size_t kBytesOfPiece = size_t(1) << 19;

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// A bit for each of 64 bytes.
struct LineBits {
  uint64_t ends = 0;
  bool quotes = false;
};

LineBits line_bits(const char* at) {
  LineBits out;
  __m128i quotes = _mm_setzero_si128();
  for (int k = 0; k < 4; ++k) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + k);
    const auto are = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    out.ends |= uint64_t(unsigned(_mm_movemask_epi8(_mm_or_si128(are('\n'), are('\r'))))) << (16 * k);
    quotes = _mm_or_si128(quotes, are('"'));
  }
  out.quotes = _mm_movemask_epi8(quotes) != 0;
  return out;
}

size_t count_quotes(std::string_view text) {
  size_t out = 0, at = 0;
  for (constexpr size_t kBytes = 16; at + kBytes <= text.size(); at += kBytes) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    out += size_t(std::popcount(unsigned(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))))));
  }
  return out + size_t(std::ranges::count(text.substr(at), '"'));
}

}  // namespace

LineCount count_lines(std::string_view text) {
  LineCount out;
  const auto add_line = [&](size_t at) {
    const size_t first = text.find_first_not_of(' ', at);
    out.lines += first != text.npos && !is_line_end(text[first]);
  };
  size_t at = 0;
  bool behind_end = true;  // a line begins at `at`
  for (constexpr size_t kBits = 64; at + kBits <= text.size(); at += kBits) {
    const LineBits bits = line_bits(text.data() + at);
    uint64_t begins = ~bits.ends & (bits.ends << 1 | uint64_t(behind_end));
    for (; begins != 0; begins &= begins - 1) add_line(at + size_t(std::countr_zero(begins)));
    behind_end = bits.ends >> (kBits - 1) != 0;
    out.quotes = out.quotes || bits.quotes;
  }
  for (; at < text.size(); ++at) {
    if (behind_end && !is_line_end(text[at])) add_line(at);
    behind_end = is_line_end(text[at]);
    out.quotes = out.quotes || text[at] == '"';
  }
  return out;
}

int64_t count_whole_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto is_of_word = [](char c) { return uint8_t(c) >= 0x80 || std::isalnum(uint8_t(c)); };
  int64_t out = 0;
  bool quoted = false;
  char before = '\n';  // spaces aside
  for (const char c : text) {
    if (c == '"' && !quoted && is_of_word(before)) return 0;
    quoted = quoted != (c == '"');
    out += !quoted && is_line_end(c) && !is_line_end(before);
    if (c != ' ') before = c;
  }
  return out;
}

LinePieces::LinePieces(const TextFile& file, size_t begin, size_t end, bool quoted)
    : file_(file), begin_(begin), end_(end), quoted_(quoted) {}

bool LinePieces::next() {
  begin_ += to_ - from_;
  if (begin_ == end_) return false;
  if (file_.is_held()) {
    text_ = file_.text();
    from_ = begin_;
    to_ = end_;
    return true;
  }
  from_ = kBytesBefore;
  for (size_t most = kBytesOfPiece;; most *= 2) {  // more for a line that is longer
    constexpr size_t kMostQuoted = size_t(1) << 26;
    const size_t size = std::min(most, end_ - begin_);
    room_.resize(std::max(room_.size(), from_ + size));
    file_.read(begin_, room_.data() + from_, size);
    text_ = std::string_view(room_).substr(0, from_ + size);
    to_ = size == end_ - begin_ ? text_.size() : end_of_lines(quoted_ && most <= kMostQuoted);
    if (to_ > from_) return true;
  }
}

// The place behind the last line end, or 0; where cells are quoted, of those with pairs of quotes before them.
size_t LinePieces::end_of_lines(bool quoted) const {
  if (!quoted) return text_.find_last_of("\r\n") + 1;
  size_t quotes = count_quotes(text_.substr(from_));  // before `at`
  for (size_t at = text_.size(); at-- > from_;) {
    if (text_[at] == '"') --quotes;
    else if (is_line_end(text_[at]) && quotes % 2 == 0) return at + 1;
  }
  return 0;
}

}  // namespace neon
