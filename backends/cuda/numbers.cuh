// Numbers as kernels read and write them: the types in memory, loads and stores of one and of neighbours. NVRTC
// compiles it; it includes nothing. Kernels have kThreads threads a block.

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr int kThreads = 256;

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

__device__ __forceinline__ float widened(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ float widened(bf16 x) { return __uint_as_float(u32(x.bits) << 16); }

// Element of an array in the type of the arithmetic.
template <typename R, typename T>
__device__ __forceinline__ R get(const void* p, i64 i) {
  const T x = static_cast<const T*>(p)[i];
  if constexpr (sizeof(T) == 2) return R(widened(x));
  else return R(x);
}

// Rounded to the nearest even, NaN and infinity kept; integers take the nearest they have, and 0 for NaN.
template <typename T>
struct Stored;
template <>
struct Stored<float> {
  __device__ static float from(double x) { return float(x); }
  __device__ static float from(float x) { return x; }
};
template <>
struct Stored<double> {
  __device__ static double from(double x) { return x; }
};
template <>
struct Stored<f16> {
  __device__ static f16 from(float x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
  __device__ static f16 from(double x) { return from(float(x)); }
};
template <>
struct Stored<bf16> {
  __device__ static bf16 from(float x) {
#if __CUDA_ARCH__ >= 800
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
#else
    const u32 bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {u16((bits >> 16) | 0x40u)};
    return {u16((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
#endif
  }
  __device__ static bf16 from(double x) { return from(float(x)); }
};
template <typename T, int kLow, int kHigh>
struct StoredSmall {
  __device__ static T from(double x) {
    if (!(x == x)) return T(0);
    const double r = ::rint(x);
    return T(r < kLow ? kLow : r > kHigh ? kHigh : int(r));
  }
  __device__ static T from(int x) { return T(x < kLow ? kLow : x > kHigh ? kHigh : x); }
};
template <>
struct Stored<u8> : StoredSmall<u8, 0, 255> {};
template <>
struct Stored<i8> : StoredSmall<i8, -128, 127> {};
template <>
struct Stored<int> {
  __device__ static int from(double x) { return x == x ? __double2int_rn(x) : 0; }
  __device__ static int from(int x) { return x; }
};
template <>
struct Stored<i64> {
  __device__ static i64 from(double x) { return x == x ? __double2ll_rn(x) : 0; }
};

template <typename T, typename R>
__device__ __forceinline__ T put(void* p, i64 i, R x) {
  const T y = Stored<T>::from(x);
  static_cast<T*>(p)[i] = y;
  return y;
}

// kCount neighbouring elements in one access; their place is a multiple of kCount.
template <int kBytes>
struct Words;
template <>
struct Words<1> {
  typedef u8 type;
};
template <>
struct Words<2> {
  typedef u16 type;
};
template <>
struct Words<4> {
  typedef u32 type;
};
template <>
struct Words<8> {
  typedef uint2 type;
};
template <>
struct Words<16> {
  typedef uint4 type;
};
template <typename T, int kCount>
union Pack {
  typename Words<sizeof(T) * kCount>::type words;
  T at[kCount];
  __device__ Pack() {}
};
template <typename T, int kCount>
__device__ __forceinline__ Pack<T, kCount> pack_at(const void* p, i64 i) {
  Pack<T, kCount> x;
  x.words = *reinterpret_cast<const typename Words<sizeof(T) * kCount>::type*>(static_cast<const T*>(p) + i);
  return x;
}
template <typename R, typename T, int kCount>
__device__ __forceinline__ void unpack(const Pack<T, kCount>& x, R (&out)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) out[j] = get<R, T>(x.at, j);
}
template <typename R, typename T, int kCount>
__device__ __forceinline__ void get_all(const void* p, i64 i, R (&out)[kCount]) {
  unpack<R>(pack_at<T, kCount>(p, i), out);
}
// Two neighbours of 16 bits as one word: two writes to a union would go through the thread's memory.
template <typename T, typename R>
__device__ __forceinline__ u32 word_of(R first, R second) {
  return u32(Stored<T>::from(first).bits) | u32(Stored<T>::from(second).bits) << 16;
}
#if __CUDA_ARCH__ >= 800
template <>
__device__ __forceinline__ u32 word_of<f16, float>(float first, float second) {
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(second), "f"(first));
  return y;
}
template <>
__device__ __forceinline__ u32 word_of<bf16, float>(float first, float second) {
  u32 y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(second), "f"(first));
  return y;
}
#endif
template <typename T, typename R, int kCount>
__device__ __forceinline__ Pack<T, kCount> packed(const R (&from)[kCount]) {
  Pack<T, kCount> x;
  if constexpr (sizeof(T) == 2 && kCount > 1) {
    u32 pairs[kCount / 2];
#pragma unroll
    for (int j = 0; j < kCount / 2; ++j) pairs[j] = word_of<T>(from[2 * j], from[2 * j + 1]);
    if constexpr (kCount == 2) x.words = pairs[0];
    else if constexpr (kCount == 4) x.words = {pairs[0], pairs[1]};
    else x.words = {pairs[0], pairs[1], pairs[2], pairs[3]};
  } else {
#pragma unroll
    for (int j = 0; j < kCount; ++j) x.at[j] = Stored<T>::from(from[j]);
  }
  return x;
}
// One access, whatever the compiler makes of the union; it may not move reads of memory beyond it.
template <typename T, int kCount>
__device__ __forceinline__ void put_pack(void* p, i64 i, const Pack<T, kCount>& x) {
  __stwb(reinterpret_cast<typename Words<sizeof(T) * kCount>::type*>(static_cast<T*>(p) + i), x.words);
}
template <typename T, typename R, int kCount>
__device__ __forceinline__ void put_all(void* p, i64 i, const R (&from)[kCount]) {
  *reinterpret_cast<typename Words<sizeof(T) * kCount>::type*>(static_cast<T*>(p) + i) = packed<T>(from).words;
}
__device__ __forceinline__ double number_of(f16 x) { return double(widened(x)); }
__device__ __forceinline__ double number_of(bf16 x) { return double(widened(x)); }
template <typename T>
__device__ __forceinline__ double number_of(T x) {
  return double(x);
}
