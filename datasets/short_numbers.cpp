#include "datasets/short_numbers.h"

#include <emmintrin.h>

#include <bit>
#include <cstdint>

namespace neon {

namespace {

__m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

struct ByteBits {
  uint64_t others = 0;      // no digits
  uint64_t delimiters = 0;  // the delimiter
};

// A bit for each of `blocks` times 16 bytes.
template <int blocks>
ByteBits bits_of(const char* at, __m128i delimiter) {
  ByteBits out;
  for (int k = 0; k < blocks; ++k) {
    const __m128i bytes = load(at + 16 * k);
    const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i digits = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
    out.others |= uint64_t(unsigned(_mm_movemask_epi8(digits)) ^ 0xffffu) << (16 * k);
    out.delimiters |= uint64_t(unsigned(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, delimiter)))) << (16 * k);
  }
  return out;
}

// All bits of the last `count` of 16 bytes.
__m128i last_bytes(int count) {
  alignas(32) static constexpr unsigned char kBits[32] = {0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
                                                          0,   0,   0,   0,   0,   255, 255, 255, 255, 255, 255,
                                                          255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  return load(kBits + count);
}

// The number of 16 digits, 0 to 9 each, the first of which counts most. Neighbours are joined four times.
int64_t joined(__m128i digits) {
  const __m128i firsts = _mm_and_si128(digits, _mm_set1_epi16(255));
  const __m128i pairs = _mm_add_epi16(_mm_mullo_epi16(firsts, _mm_set1_epi16(10)), _mm_srli_epi16(digits, 8));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
  const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
  const auto both = uint64_t(_mm_cvtsi128_si64(eights));
  return int64_t((both & 0xffffffff) * 100000000 + (both >> 32));
}

// The number in the `length` bytes at `at`; `others` has a bit for each of them that is no digit. False where they are
// no short number.
bool short_number(const char* at, int length, uint64_t others, double& out) {
  constexpr double kPowers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr int kMost = 15;
  const bool negative = *at == '-';
  others &= ~uint64_t(negative);
  const bool has_point = others != 0;
  const int place = has_point ? std::countr_zero(others) : length;
  if ((others & (others - 1)) != 0 || (has_point && at[place] != '.')) return false;
  const int count = length - int(negative) - int(has_point);
  if (count < 1 || count > kMost) return false;
  const int behind = length - place - int(has_point);
  // Digits before the point move one byte on, over it.
  const char* const end = at + length;
  const __m128i zeros = _mm_set1_epi8('0'), tail = last_bytes(has_point ? behind : count);
  const __m128i moved = _mm_andnot_si128(tail, _mm_and_si128(_mm_sub_epi8(load(end - 17), zeros), last_bytes(count)));
  const __m128i digits = _mm_or_si128(_mm_and_si128(_mm_sub_epi8(load(end - 16), zeros), tail), moved);
  const double value = double(joined(digits)) / kPowers[behind];
  out = std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ (uint64_t(negative) << 63));
  return true;
}

}  // namespace

const char* read_short_number(const char* at, double& out) {
  const uint64_t sign = *at == '-', others = bits_of<2>(at, _mm_setzero_si128()).others & ~sign;
  int length = std::countr_zero(others);
  if (length >= 32) return nullptr;
  if (at[length] == '.') length = std::countr_zero(others & (others - 1));
  if (length >= 32 || at[length] == 'e' || at[length] == 'E') return nullptr;
  return short_number(at, length, (others | sign) & ((uint64_t(1) << length) - 1), out) ? at + length : nullptr;
}

size_t read_short_numbers(const char*& from, const char* text_begin, const char* text_end, char delimiter, float* to,
                          size_t most) {
  if (from - text_begin < kBytesBefore) return 0;
  const __m128i delimiters = _mm_set1_epi8(delimiter);
  size_t count = 0;
  while (count < most && text_end - from >= kBytesBehind) {
    const ByteBits bits = bits_of<4>(from, delimiters);
    int begin = 0;
    for (uint64_t ends = bits.delimiters; ends != 0 && count < most; ends &= ends - 1) {
      const int end = std::countr_zero(ends), length = end - begin;
      double value = 0;
      if (!short_number(from + begin, length, bits.others >> begin & ((uint64_t(1) << length) - 1), value)) {
        from += begin;
        return count;
      }
      to[count++] = float(value);
      begin = end + 1;
    }
    if (begin == 0) break;  // a cell longer than the bits
    from += begin;
  }
  return count;
}

}  // namespace neon
