// Max pooling's gradient at one element: the number of its window, or 0. Masks do that for two 16-bit numbers at once.

// The highest bits of two neighbouring bytes, each in all bits of a 16-bit number.
template <int kFirst>
__device__ __forceinline__ u32 spread_signs(u32 bytes) {
#ifdef __CUDA_ARCH__
  u32 out;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(out) : "r"(bytes), "n"(kFirst == 0 ? 0x9988 : 0xbbaa));
  return out;
#else
  return (bytes >> (8 * kFirst + 7) & 1u) * 0xffffu | (bytes >> (8 * kFirst + 15) & 1u) * 0xffff0000u;
#endif
}

// Two words have the numbers of four neighbours: those whose place is another become 0. No place is 255.
__device__ __forceinline__ void keep_placed(u32& low, u32& high, u32 places, u32 place) {
  const u32 x = places ^ (place & 0xffu) * 0x01010101u;
  const u32 same = ~(((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x);  // the highest bit of a byte of x that is 0
  low &= spread_signs<0>(same), high &= spread_signs<2>(same);
}

// Neighbours' numbers, those at another place as 0.
template <typename T, typename P, int kWidth>
__device__ __forceinline__ void keep_placed(Pack<T, kWidth>& numbers, const Pack<P, kWidth>& places, int place) {
  if constexpr (sizeof(T) == 2 && sizeof(P) == 1 && kWidth % 4 == 0) {
    u32* const pairs = reinterpret_cast<u32*>(&numbers);
    const u32* const fours = reinterpret_cast<const u32*>(&places);
#pragma unroll
    for (int w = 0; w < kWidth / 4; ++w) keep_placed(pairs[2 * w], pairs[2 * w + 1], fours[w], u32(place));
  } else {
#pragma unroll
    for (int s = 0; s < kWidth; ++s)
      if (int(places.at[s]) != place) numbers.at[s] = T{};
  }
}

// Neighbours' numbers through relu's derivative: 0 where relu's result is not above 0.
template <typename T>
__device__ __forceinline__ u32 above_zero(u32 pair);
#if __CUDA_ARCH__ >= 900
template <>
__device__ __forceinline__ u32 above_zero<f16>(u32 pair) {
  u32 out;
  asm("set.gt.u32.f16x2 %0, %1, %2;" : "=r"(out) : "r"(pair), "r"(0u));
  return out;
}
template <>
__device__ __forceinline__ u32 above_zero<bf16>(u32 pair) {
  u32 out;
  asm("set.gt.u32.bf16x2 %0, %1, %2;" : "=r"(out) : "r"(pair), "r"(0u));
  return out;
}
#endif
template <typename R, typename T, int kWidth>
__device__ __forceinline__ void through_relu(Pack<T, kWidth>& numbers, const Pack<T, kWidth>& result) {
#if __CUDA_ARCH__ >= 900
  if constexpr (sizeof(T) == 2 && kWidth % 2 == 0) {
    u32* const pairs = reinterpret_cast<u32*>(&numbers);
    const u32* const of_result = reinterpret_cast<const u32*>(&result);
#pragma unroll
    for (int w = 0; w < kWidth / 2; ++w) pairs[w] &= above_zero<T>(of_result[w]);
    return;
  }
#endif
#pragma unroll
  for (int s = 0; s < kWidth; ++s)
    if (!(get<R, T>(result.at, s) > 0)) numbers.at[s] = T{};
}
