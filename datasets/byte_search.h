// The first of a few characters in a text, 16 bytes at a time.
#pragma once
#include <emmintrin.h>

#include <bit>

namespace neon {

// The first byte of [from, end) that is one of `wanted`, or `end`.
template <typename... Chars>
const char* find_first_of(const char* from, const char* end, Chars... wanted) {
  constexpr int kBytes = 16;
  for (; end - from >= kBytes; from += kBytes) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    __m128i found = _mm_setzero_si128();
    ((found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)))), ...);
    if (const int bits = _mm_movemask_epi8(found)) return from + std::countr_zero(unsigned(bits));
  }
  while (from < end && ((*from != wanted) && ...)) ++from;
  return from;
}

}  // namespace neon
