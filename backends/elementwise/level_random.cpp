// Blocks of the Philox streams of neon/core/random.h: four elements to a counter.
#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

struct Four {
  uint32_t lane[4];
};

// The counter's first word is the low half of the group's number; the other three are the same for a run of groups.
[[gnu::always_inline]] inline Four philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                                          uint32_t k1) {
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(c0) * 0xD2511F53u, p1 = uint64_t(c2) * 0xCD9E8D57u;
    const uint32_t next0 = uint32_t(p1 >> 32) ^ c1 ^ k0, next2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c1 = uint32_t(p1), c3 = uint32_t(p0), c0 = next0, c2 = next2;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

struct AsBits {
  using Type = uint32_t;
  [[gnu::always_inline]] static uint32_t from(uint32_t bits) { return bits; }
};
template <typename R>
struct AsUniform {
  using Type = R;
  // Through a signed integer, which every instruction set converts.
  [[gnu::always_inline]] static R from(uint32_t bits) { return R(int32_t(bits >> 8)) * R(0x1p-24); }
};

// Groups first .. first + n - 1, all with the same high half of their number.
template <typename As>
void groups(RandomKey key, uint64_t first, typename As::Type* y, int64_t n) {
  const uint32_t c0 = uint32_t(first), c1 = uint32_t(first >> 32) ^ uint32_t(key.step >> 32);
  const uint32_t c2 = uint32_t(key.id) ^ uint32_t(key.step), c3 = uint32_t(key.id >> 32);
  const uint32_t k0 = uint32_t(key.seed), k1 = uint32_t(key.seed >> 32);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const Four four = philox(c0 + uint32_t(i), c1, c2, c3, k0, k1);
    y[4 * i] = As::from(four.lane[0]);
    y[4 * i + 1] = As::from(four.lane[1]);
    y[4 * i + 2] = As::from(four.lane[2]);
    y[4 * i + 3] = As::from(four.lane[3]);
  }
}

template <typename As>
void fill(RandomKey key, uint64_t first, typename As::Type* y, int64_t n) {
  while (n > 0) {
    const uint64_t group = first / 4;
    if (first % 4 != 0 || n < 4) {  // part of a group
      typename As::Type four[4];
      groups<As>(key, group, four, 1);
      for (; n > 0 && first / 4 == group; ++first, --n) *y++ = four[first % 4];
      continue;
    }
    const uint64_t until_wrap = (1ull << 32) - (group & 0xffffffffu);
    const int64_t whole = uint64_t(n) / 4 < until_wrap ? n / 4 : int64_t(until_wrap);
    groups<As>(key, group, y, whole);
    first += uint64_t(whole) * 4, y += whole * 4, n -= whole * 4;
  }
}

}  // namespace

constinit const Random random = {fill<AsBits>, fill<AsUniform<float>>, fill<AsUniform<double>>};

}  // namespace neon::elementwise::NEON_LEVEL
