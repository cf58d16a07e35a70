// Products of tiles of 16 x 8 numbers on tensor cores: d += a b, of 16 k of 16 bits by mma.m16n8k16, or of 8 k of TF32
// by m16n8k8. Lane 4 g + i has rows g and g + 8 of a and d, column g of b, and columns 2 i and 2 i + 1 of d.
template <typename T>
__device__ __forceinline__ void multiply_add(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1);
#define NEON_MULTIPLY_ADD(T, SHAPE, TYPE)                                                                         \
  template <>                                                                                                     \
  __device__ __forceinline__ void multiply_add<T>(float(&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) { \
    asm("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE                                                   \
        ".f32 "                                                                                                   \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                         \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                          \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));                                                  \
  }
NEON_MULTIPLY_ADD(f16, "m16n8k16", "f16")
NEON_MULTIPLY_ADD(bf16, "m16n8k16", "bf16")
NEON_MULTIPLY_ADD(float, "m16n8k8", "tf32")
#undef NEON_MULTIPLY_ADD

// A word of f32 as the nearest number of TF32: tensor cores would cut off what they do not take, and make all smaller.
__device__ __forceinline__ u32 tf32(u32 word) {
  u32 out;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(__uint_as_float(word)));
  return out;
}
