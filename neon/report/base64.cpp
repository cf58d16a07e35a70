#include "neon/report/base64.h"

#include <cstdint>

namespace neon {

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  const auto at = [&](size_t i) { return i < bytes.size() ? uint32_t(uint8_t(bytes[i])) : 0u; };
  for (size_t i = 0, to = 0; i < bytes.size(); i += 3, to += 4) {
    const uint32_t word = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    const size_t digits = bytes.size() - i < 3 ? bytes.size() - i + 1 : 4;
    for (size_t digit = 0; digit < digits; ++digit) out[to + digit] = kDigits[word >> (18 - 6 * digit) & 63];
  }
  return out;
}

}  // namespace neon
