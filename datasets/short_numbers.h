// Numbers such as "-12.75" in a text: an optional sign, then 1 to 15 digits with at most one point. They are most cells
// of a table. Whole numbers below 10^15 and powers of ten up to 10^15 are exact in f64. So their quotient is rounded
// once, as by std::from_chars, in a fraction of its time.
#pragma once
#include <cstddef>

namespace neon {

// Bytes that may be read before and behind a number.
constexpr ptrdiff_t kBytesBefore = 17, kBytesBehind = 64;

// Reads the number that begins at `at`, and as many digits as there are. Returns its end, or null for any other text, a
// longer number or an exponent. The caller has kBytesBefore and kBytesBehind bytes around `at`.
const char* read_short_number(const char* at, double& out);

// Reads up to `most` such numbers with `delimiter` behind each, from `from` on, and moves `from` behind them. Returns
// how many; the first text of another kind is left, and so are numbers too near to the text's bounds.
size_t read_short_numbers(const char*& from, const char* text_begin, const char* text_end, char delimiter, float* to,
                          size_t most);

}  // namespace neon
