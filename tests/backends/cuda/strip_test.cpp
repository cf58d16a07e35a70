// The text of max pooling by strips, compiled for the host, where it takes the ways of GPUs that cannot compute in f16
// or bf16: against loops over each window.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "neon/core/dtype.h"
#include "neon/core/random.h"

#define __device__
#define __forceinline__ inline

namespace {

using neon::bf16, neon::f16;
using std::max;
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;

// What CUDA and the prelude of all kernels have.
struct uint2 {
  u32 x, y;
};
struct uint4 {
  u32 x, y, z, w;
};
uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }
uint2 make_uint2(u32 x, u32 y) { return {x, y}; }

// Byte i of the result is that of the eight of x and y which digit i of `select` names.
u32 __byte_perm(u32 x, u32 y, u32 select) {
  const uint64_t both = uint64_t(y) << 32 | x;
  u32 out = 0;
  for (int i = 0; i < 4; ++i) out |= u32(both >> 8 * (select >> 4 * i & 7) & 0xff) << 8 * i;
  return out;
}

template <int kBytes>
using Word = std::conditional_t<kBytes == 16, uint4,
                                std::conditional_t<kBytes == 8, uint2, std::conditional_t<kBytes == 4, u32, u16>>>;
template <typename T, int kCount>
union Pack {
  Word<int(sizeof(T)) * kCount> words;
  T at[kCount];
  Pack() : words() {}
};

#include "backends/cuda/pool_strip.cuh"
#include "backends/cuda/spread.cuh"

// Few different numbers, so that many are equal: zeros of both signs, infinities, now and then NaN of either sign or
// any other bits.
template <typename T>
T some_number(neon::Stream& stream) {
  const u16 infinity = std::is_same_v<T, f16> ? 0x7c00 : 0x7f80, one = std::is_same_v<T, f16> ? 0x3c00 : 0x3f80;
  const int kind = int(stream.uniform() * 100), sign = stream.uniform() < 0.5 ? 0x8000 : 0;
  T out{};
  out.bits = u16(sign | (kind < 3 ? infinity + 1 + kind : kind < 30 ? infinity : kind < 50 ? 0 : one + kind % 3));
  if (kind >= 90) out.bits = u16(stream.uniform() * 0x10000);
  return out;
}

// Strips of kWindows windows of kRows rows and kWindow columns; returns how many results are not those of loops.
template <typename T, int kWidth, int kWindows, int kRows, int kWindow, int kStride>
int wrong_of(bool relu) {
  constexpr int kColumns = (kWindows - 1) * kStride + kWindow;
  neon::Stream stream(7, "strips");
  int wrong = 0;
  for (int time = 0; time < 2000; ++time) {
    Pack<T, kWidth> x[kRows][kColumns];
    bool inside[kRows][kColumns];
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) {
        inside[r][c] = (r == 0 && c % kStride == 0) || stream.uniform() < 0.8;  // every window sees something
        for (T& number : x[r][c].at) number = some_number<T>(stream);
      }
    const auto see = [&](int c, Largest<T, kWidth>& largest) {
      for (int r = 0; r < kRows; ++r) largest.take(x[r][c], inside[r][c], 0xffffu - u32(r * kWindow));
    };
    const auto give = [&](int j, const Largest<T, kWidth>& largest) {
      const Pack<T, kWidth> numbers = largest.numbers(relu);
      const Pack<u8, kWidth> places = largest.places();
      for (int e = 0; e < kWidth; ++e) {
        float best = 0;
        int where = -1;
        for (int r = 0; r < kRows; ++r)
          for (int s = 0; s < kWindow; ++s) {
            if (!inside[r][j * kStride + s]) continue;
            const float number = to_float(x[r][j * kStride + s].at[e]);
            if (where < 0 || (!std::isnan(best) && (number > best || std::isnan(number))))
              best = number, where = r * kWindow + s;
          }
        const float expected = relu && best < 0 ? 0 : best, got = to_float(numbers.at[e]);
        wrong += places.at[e] != where || !(got == expected || (std::isnan(got) && std::isnan(expected)));
      }
    };
    largest_of_strip<T, kWidth, kWindows, kWindow, kStride>(see, give);
  }
  return wrong;
}

}  // namespace

TEST_CASE("numbers of 16 bits as integers are in the order of the numbers, NaN above all, and come back") {
  float before[2] = {-INFINITY, -INFINITY};
  for (int order = -0x8000; order < 0x8000; ++order) {
    // The number whose integer that is, in the upper half; in the lower one 0.
    const u32 bits = unordered(u32(order) << 16);
    CHECK((bits & 0xffff) == 0);
    const f16 half{u16(bits >> 16)};
    const bf16 brain{u16(bits >> 16)};
    const float numbers[2] = {to_float(half), to_float(brain)};
    const u32 back[2] = {ordered<f16>(bits), ordered<bf16>(bits)};
    for (int type : {0, 1}) {
      if (std::isnan(numbers[type])) {
        CHECK(back[type] == 0x7fff0000u);
        continue;
      }
      if (numbers[type] == 0) CHECK(back[type] == 0);
      else CHECK(back[type] == u32(order) << 16);
      CHECK(numbers[type] >= before[type]);
      before[type] = numbers[type];
    }
  }
}

TEST_CASE("the first of the largest that each window of a strip sees, NaN above all") {
  for (bool relu : {false, true}) {
    CHECK(wrong_of<f16, 8, 7, 3, 3, 1>(relu) == 0);
    CHECK(wrong_of<bf16, 8, 7, 3, 3, 2>(relu) == 0);
    CHECK(wrong_of<f16, 4, 3, 2, 2, 2>(relu) == 0);
    CHECK(wrong_of<bf16, 2, 1, 2, 3, 3>(relu) == 0);
    CHECK(wrong_of<f16, 8, 2, 6, 5, 1>(relu) == 0);
  }
}

TEST_CASE("numbers of max pooling's gradient stay where their place is the element's, and nowhere at place -1") {
  neon::Stream stream(3, "spread");
  for (int place = -1; place < 255; ++place)
    for (int other = 0; other < 255; ++other) {
      Pack<f16, 8> numbers, expected;
      Pack<u8, 8> places;
      for (int s = 0; s < 8; ++s) {
        places.at[s] = u8(stream.below(2) && place >= 0 ? place : other);
        numbers.at[s].bits = u16(stream.below(0x10000));
        expected.at[s].bits = places.at[s] == place ? numbers.at[s].bits : u16(0);
      }
      keep_placed(numbers, places, place);
      for (int s = 0; s < 8; ++s) REQUIRE(numbers.at[s].bits == expected.at[s].bits);
    }
}
