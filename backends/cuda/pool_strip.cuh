// Max pooling of 16-bit numbers along a strip of windows. A number and its place in the window are one integer, the
// number above and 0xffff - place below: the larger of two such is the larger number, and of equal ones the first. A
// thread goes through the numbers of one column once for all neighbouring windows, as if it were a window's first
// column. In a later column the places are larger, and so the integers are smaller by as many columns.

// The number outside the image: below -infinity.
constexpr u32 kOutside = 0x80008000u;

// All bits of a half where its highest is set.
__device__ __forceinline__ u32 signs(u32 pair) {
#ifdef __CUDA_ARCH__
  u32 out;
  asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(out) : "r"(pair));
  return out;
#else
  return (pair >> 15 & 0x00010001u) * 0xffffu;
#endif
}

// NaN as the one whose bits are 0x7fff, -0 as 0, other numbers as they are.
__device__ __forceinline__ u32 plain_half(u32 half, u32 infinity) {
  return (half & 0x7fffu) > infinity ? 0x7fffu : half == 0x8000u ? 0u : half;
}
template <typename T>
__device__ __forceinline__ u32 plain(u32 pair);
template <>
__device__ __forceinline__ u32 plain<f16>(u32 pair) {
#if __CUDA_ARCH__ >= 530
  u32 out;
  asm("add.f16x2 %0, %1, %2;" : "=r"(out) : "r"(pair), "r"(0u));
  return out;
#else
  return plain_half(pair & 0xffffu, 0x7c00u) | plain_half(pair >> 16, 0x7c00u) << 16;
#endif
}
template <>
__device__ __forceinline__ u32 plain<bf16>(u32 pair) {
#if __CUDA_ARCH__ >= 800
  u32 out;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(pair), "r"(0x3f803f80u), "r"(0u));
  return out;
#else
  return plain_half(pair & 0xffffu, 0x7f80u) | plain_half(pair >> 16, 0x7f80u) << 16;
#endif
}

// Two numbers as integers of 16 bits in the same order, NaN above all; and back.
template <typename T>
__device__ __forceinline__ u32 ordered(u32 pair) {
  const u32 numbers = plain<T>(pair);
  return numbers ^ (signs(numbers) & 0x7fff7fffu);
}
__device__ __forceinline__ u32 unordered(u32 pair) { return pair ^ (signs(pair) & 0x7fff7fffu); }

__device__ __forceinline__ void take_apart(uint4 x, u32 (&out)[4]) {
  out[0] = x.x, out[1] = x.y, out[2] = x.z, out[3] = x.w;
}
__device__ __forceinline__ void take_apart(uint2 x, u32 (&out)[2]) { out[0] = x.x, out[1] = x.y; }
__device__ __forceinline__ void take_apart(u32 x, u32 (&out)[1]) { out[0] = x; }
__device__ __forceinline__ void put_together(const u32 (&x)[4], uint4& out) {
  out = make_uint4(x[0], x[1], x[2], x[3]);
}
__device__ __forceinline__ void put_together(const u32 (&x)[2], uint2& out) { out = make_uint2(x[0], x[1]); }
__device__ __forceinline__ void put_together(const u32 (&x)[1], u32& out) { out = x[0]; }

// The largest so far of some neighbouring channels, and what one place, `low` = 0xffff - place, adds to them.
template <typename T, int kWidth>
struct Largest {
  int at[kWidth];
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) at[e] = int(kOutside | 0xffffu);
  }
  __device__ __forceinline__ void take(const Pack<T, kWidth>& numbers, bool inside, u32 low) {
    u32 words[kWidth / 2];
    take_apart(numbers.words, words);
#pragma unroll
    for (int w = 0; w < kWidth / 2; ++w) {
      const u32 pair = inside ? ordered<T>(words[w]) : kOutside;
      at[2 * w] = max(at[2 * w], int(__byte_perm(pair, low, 0x1054)));
      at[2 * w + 1] = max(at[2 * w + 1], int(__byte_perm(pair, low, 0x3254)));
    }
  }
  __device__ __forceinline__ Pack<T, kWidth> numbers(bool relu) const {
    u32 words[kWidth / 2];
#pragma unroll
    for (int w = 0; w < kWidth / 2; ++w) {
      const u32 pair = __byte_perm(u32(at[2 * w]), u32(at[2 * w + 1]), 0x7632);
      words[w] = relu ? pair & ~signs(pair) : unordered(pair);
    }
    Pack<T, kWidth> out;
    put_together(words, out.words);
    return out;
  }
  __device__ __forceinline__ Pack<u8, kWidth> places() const {
    Pack<u8, kWidth> out;
    if constexpr (kWidth % 4 == 0) {
      u32 words[kWidth / 4];
#pragma unroll
      for (int w = 0; w < kWidth / 4; ++w)
        words[w] = ~__byte_perm(__byte_perm(u32(at[4 * w]), u32(at[4 * w + 1]), 0x0040),
                                __byte_perm(u32(at[4 * w + 2]), u32(at[4 * w + 3]), 0x0040), 0x5410);
      put_together(words, out.words);
    } else {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) out.at[e] = u8(~at[e]);
    }
    return out;
  }
};

// The largest numbers of kWindows windows of kWindow columns, kStride apart. see(x, column) takes column x of the
// strip, all its places as those of a window's first column; give(j, largest) gets window j's largest.
template <typename T, int kWidth, int kWindows, int kWindow, int kStride, typename See, typename Give>
__device__ __forceinline__ void largest_of_strip(See see, Give give) {
  Largest<T, kWidth> columns[(kWindows - 1) * kStride + kWindow];
#pragma unroll
  for (int j = 0; j < kWindows; ++j) {
    const int seen = j == 0 ? 0 : (j - 1) * kStride + kWindow;
#pragma unroll
    for (int x = max(j * kStride, seen); x < j * kStride + kWindow; ++x) {
      columns[x].clear();
      see(x, columns[x]);
    }
    Largest<T, kWidth> best = columns[j * kStride];
#pragma unroll
    for (int s = 1; s < kWindow; ++s)
#pragma unroll
      for (int e = 0; e < kWidth; ++e) best.at[e] = max(best.at[e], columns[j * kStride + s].at[e] - s);
    give(j, best);
  }
}
